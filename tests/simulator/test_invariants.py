"""Each law is broken on purpose once, and must be seen."""

import hashlib
from collections.abc import Callable

import pytest

from device.observer import (
    Adopted,
    Charged,
    DreamEnded,
    DreamStarted,
    Released,
    SessionEnded,
    SessionOpened,
    UploadAcked,
)
from protocol.identity import SigningKey
from protocol.messages import Plan, UploadBegin, UploadChunk
from protocol.release import BlobInfo, Manifest, seal_manifest
from protocol.wire import encode
from simulator.availability import Track
from simulator.invariants import (
    ACKED_ONCE,
    CANARY,
    CHARGED,
    RISING,
    SAME_BYTES,
    SIGNED,
    WINDOW,
    PhoneWatch,
    Tally,
    check_counts,
    check_published,
)
from simulator.randomness import KeyedBits

OPEN, SHUT = 1000.0, 2000.0
SETTLE = 60.0
INSIDE = 1500.0
SECRET = "canary-1234567890"
KEY = SigningKey.generate(KeyedBits(1, "cloud"))
OTHER_KEY = SigningKey.generate(KeyedBits(2, "someone"))
ID, BODY = b"i" * 16, b"masked numbers"
HASH = hashlib.sha256(BODY).digest()


@pytest.fixture
def watch() -> PhoneWatch:
    return PhoneWatch(
        "phone 1",
        window=Track(((OPEN, SHUT),)),
        settle=SETTLE,
        canary=SECRET,
        cloud_key=KEY.public,
    )


def release(watch: PhoneWatch, number: int = 1, report_id: bytes = ID) -> None:
    watch.ledger_round = lambda _task: number
    watch.on(Charged(INSIDE, "usage", number, 7))
    watch.on(Released(INSIDE, report_id, "usage", number, HASH))


def begin(digest: bytes = HASH, upload_id: bytes = ID) -> bytes:
    return encode(UploadBegin(upload_id=upload_id, kind="report", size=len(BODY), sha256=digest))


def chunk(data: bytes = BODY) -> bytes:
    return encode(UploadChunk(upload_id=ID, offset=0, data=data))


def plan(version: int, key: SigningKey) -> bytes:
    manifest = Manifest(
        model="router",
        version=version,
        parent=version - 1,
        sha256=bytes(32),
        full=BlobInfo(size=10, sha256=bytes(32)),
        differences={},
        metrics={},
        epsilon=0.0,
        delta=0.0,
        created=0.0,
        expires=1e9,
        feature_version=1,
    )
    return encode(Plan(rounds=(), releases=(seal_manifest(manifest, key),), retry_after=0.0))


def broken(watch: PhoneWatch) -> list[str]:
    return sorted(watch.tally.violated)


def test_a_lawful_life_breaks_nothing(watch: PhoneWatch) -> None:
    watch.on(DreamStarted(OPEN + SETTLE))
    watch.on(SessionOpened(OPEN + SETTLE + 1))
    watch.downlink(plan(1, KEY), INSIDE)
    watch.on(Adopted(INSIDE, "router", 1))
    release(watch)
    for _ in range(2):  # the acknowledgement was lost: the same bytes go out again
        watch.uplink(begin(), INSIDE)
        watch.uplink(chunk(), INSIDE)
    watch.on(UploadAcked(INSIDE, ID))
    watch.on(SessionEnded(SHUT + 0.5))
    watch.on(DreamEnded(SHUT + 0.5, "interrupted"))
    watch.scan({"raw.0": b"sealed"})
    watch.close(SHUT + 10)
    assert broken(watch) == []
    assert set(watch.tally.checked) == {
        CHARGED, SAME_BYTES, CANARY, WINDOW, ACKED_ONCE, RISING, SIGNED,
    }  # fmt: skip


def uncharged(watch: PhoneWatch) -> None:
    watch.on(Released(INSIDE, ID, "usage", 1, HASH))


def charged_twice(watch: PhoneWatch) -> None:
    release(watch)
    watch.on(Charged(INSIDE, "usage", 1, 7))


def released_twice(watch: PhoneWatch) -> None:
    release(watch)
    watch.on(Released(INSIDE, b"j" * 16, "usage", 1, HASH))


def other_bytes_on_retry(watch: PhoneWatch) -> None:
    release(watch)
    watch.uplink(chunk(), INSIDE)
    watch.uplink(chunk(b"fresh noise!!!"), INSIDE)


def upload_from_nowhere(watch: PhoneWatch) -> None:
    watch.uplink(begin(), INSIDE)


def offered_with_another_hash(watch: PhoneWatch) -> None:
    release(watch)
    watch.uplink(begin(bytes(32)), INSIDE)


def canary_up(watch: PhoneWatch) -> None:
    release(watch)
    watch.uplink(chunk(b"x" + SECRET.encode()), INSIDE)


def canary_at_rest(watch: PhoneWatch) -> None:
    watch.scan({"raw.0": b"in clear: " + SECRET.encode()})


def dream_before_the_window(watch: PhoneWatch) -> None:
    watch.on(DreamStarted(OPEN - 10))


def dream_before_settling(watch: PhoneWatch) -> None:
    watch.on(DreamStarted(OPEN + SETTLE - 1))


def dream_that_runs_on(watch: PhoneWatch) -> None:
    watch.on(DreamStarted(INSIDE))
    watch.on(DreamEnded(SHUT + 1.5, "finished"))


def session_that_never_ends(watch: PhoneWatch) -> None:
    watch.on(SessionOpened(INSIDE))
    watch.close(SHUT + 60)


def frame_after_the_window(watch: PhoneWatch) -> None:
    release(watch)
    watch.uplink(chunk(), SHUT + 2)


def acked_twice(watch: PhoneWatch) -> None:
    release(watch)
    watch.on(UploadAcked(INSIDE, ID))
    watch.on(UploadAcked(INSIDE, ID))


def rolled_back(watch: PhoneWatch) -> None:
    for version in (2, 1):
        watch.downlink(plan(version, KEY), INSIDE)
        watch.on(Adopted(INSIDE, "router", version))


def signed_by_another(watch: PhoneWatch) -> None:
    watch.downlink(plan(1, OTHER_KEY), INSIDE)
    watch.on(Adopted(INSIDE, "router", 1))


@pytest.mark.parametrize(
    ("crime", "law"),
    [
        (uncharged, CHARGED),
        (charged_twice, CHARGED),
        (released_twice, CHARGED),
        (other_bytes_on_retry, SAME_BYTES),
        (upload_from_nowhere, SAME_BYTES),
        (offered_with_another_hash, SAME_BYTES),
        (canary_up, CANARY),
        (canary_at_rest, CANARY),
        (dream_before_the_window, WINDOW),
        (dream_before_settling, WINDOW),
        (dream_that_runs_on, WINDOW),
        (session_that_never_ends, WINDOW),
        (frame_after_the_window, WINDOW),
        (acked_twice, ACKED_ONCE),
        (rolled_back, RISING),
        (signed_by_another, SIGNED),
    ],
    ids=lambda value: value.__name__ if callable(value) else value,
)
def test_a_planted_violation_is_caught(
    watch: PhoneWatch, crime: Callable[[PhoneWatch], None], law: str
) -> None:
    crime(watch)
    assert broken(watch) == [law]
    assert "phone 1" in watch.tally.violations[0]


def fleet(**changes: object) -> Tally:
    books: dict[str, object] = {
        "acked": [b"a", b"b"],
        "released": [b"a", b"b", b"c"],
        "held": {b"a": 1, b"b": 1, b"c": 1},
        "counted": {("usage", 1): 3},
        "held_by_round": {("usage", 1): 3},
    }
    tally = Tally()
    check_counts(tally, **(books | changes))  # type: ignore[arg-type]
    return tally


def test_balanced_books() -> None:
    assert not fleet().violated
    # An upload whose acknowledgement was lost is held though no phone knows it yet.
    assert not fleet(acked=[b"a"]).violated


@pytest.mark.parametrize(
    "changes",
    [
        {"held": {b"a": 1, b"c": 1}},
        {"held": {b"a": 2, b"b": 1, b"c": 1}},
        {"held": {b"a": 1, b"b": 1, b"z": 1}},
        {"counted": {("usage", 1): 4}},
        {"counted": {("usage", 1): 2}},
    ],
    ids=["lost", "doubled", "from nowhere", "counted too often", "counted too seldom"],
)
def test_books_that_do_not_balance(changes: dict[str, object]) -> None:
    assert list(fleet(**changes).violated) == [ACKED_ONCE]


def test_published_versions_rise() -> None:
    tally = Tally()
    check_published(tally, "router", [1, 2, 3])
    assert not tally.violated
    check_published(tally, "router", [1, 3, 3])
    assert list(tally.violated) == [RISING]
