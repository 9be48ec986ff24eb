"""Each law is broken on purpose once, and must be seen."""

import hashlib
from collections.abc import Callable

import pytest

from device.observer import (
    Adopted,
    Charged,
    DreamEnded,
    DreamStarted,
    Quarantined,
    Released,
    SessionEnded,
    SessionOpened,
    UploadAcked,
)
from protocol.identity import SigningKey
from protocol.messages import Bye, Plan, UploadBegin, UploadChunk
from protocol.release import BlobInfo, Manifest, seal_manifest
from protocol.wire import encode
from simulator.availability import Track
from simulator.fleet_checks import check_counts, check_published
from simulator.invariants import PhoneWatch
from simulator.laws import (
    ACKED_ONCE,
    CANARY,
    CHARGED,
    RECEIPTED,
    RISING,
    SAME_BYTES,
    SIGNED,
    UNSUSPECTED,
    WINDOW,
    Tally,
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


def canary_down(watch: PhoneWatch) -> None:
    watch.downlink(encode(Bye(reason=SECRET)), INSIDE)


def acked_but_never_released(watch: PhoneWatch) -> None:
    watch.on(UploadAcked(INSIDE, ID))


def adopted_without_a_manifest(watch: PhoneWatch) -> None:
    watch.on(Adopted(INSIDE, "router", 1))


def frame_answered_after_the_window(watch: PhoneWatch) -> None:
    watch.downlink(plan(1, KEY), SHUT + 2)


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
    ("crime", "law", "named"),
    [
        (uncharged, CHARGED, "usage round 1 was released uncharged"),
        (charged_twice, CHARGED, "usage round 1 was charged again"),
        (released_twice, CHARGED, "usage round 1 was released twice"),
        (acked_but_never_released, CHARGED, f"{ID.hex()} was acknowledged but never released"),
        (other_bytes_on_retry, SAME_BYTES, f"{ID.hex()} was sent again with other bytes"),
        (upload_from_nowhere, SAME_BYTES, "an upload was offered that no release announced"),
        (offered_with_another_hash, SAME_BYTES, "an upload was offered that no release announced"),
        (canary_up, CANARY, "the canary left in a frame"),
        (canary_down, CANARY, "the canary came down in a frame"),
        (canary_at_rest, CANARY, "the canary is in clear in raw.0"),
        (dream_before_the_window, WINDOW, "a dream began at 990.0, outside the window"),
        (dream_before_settling, WINDOW, "a dream began at 1059.0, outside the window"),
        (dream_that_runs_on, WINDOW, "a dream ran on 1.5 s after it"),
        (session_that_never_ends, WINDOW, "a session ran on 60.0 s after it"),
        (frame_after_the_window, WINDOW, "a frame was sent at 2002.0, outside the window"),
        (frame_answered_after_the_window, WINDOW, "a frame was answered at 2002.0, outside"),
        (acked_twice, ACKED_ONCE, f"{ID.hex()} was acknowledged twice"),
        (rolled_back, RISING, "router went from version 2 to 1"),
        (signed_by_another, SIGNED, "router 1 was adopted unsigned"),
        (adopted_without_a_manifest, SIGNED, "router 1 was adopted unsigned"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_planted_violation_is_caught_and_named(
    watch: PhoneWatch, crime: Callable[[PhoneWatch], None], law: str, named: str
) -> None:
    crime(watch)
    assert broken(watch) == [law]
    assert watch.tally.violations[0].startswith(f"law {law}: phone 1: {named}")


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
    ("changes", "named"),
    [
        ({"held": {b"a": 1, b"c": 1}}, "62 is held 0 times"),
        ({"held": {b"a": 2, b"b": 1, b"c": 1}}, "61 is held 2 times"),
        ({"held": {b"a": 1, b"b": 1, b"z": 1}}, "7a came from nowhere"),
        ({"counted": {("usage", 1): 4}}, "usage round 1 summed 4 reports of 3 held"),
        ({"counted": {("usage", 1): 2}}, "usage round 1 summed 2 reports of 3 held"),
    ],
    ids=["lost", "doubled", "from nowhere", "counted too often", "counted too seldom"],
)
def test_books_that_do_not_balance(changes: dict[str, object], named: str) -> None:
    tally = fleet(**changes)
    assert list(tally.violated) == [ACKED_ONCE]
    assert tally.violations == [f"law {ACKED_ONCE}: cloud: {named}"]


def test_many_violations_are_all_counted_and_a_hundred_shown() -> None:
    one, two = Tally(), Tally()
    for tally in (one, two):
        for number in range(80):
            tally.check(CANARY, False, f"phone {number}", "said it")
    one.merge(two)
    assert one.violated[CANARY] == one.checked[CANARY] == 160
    assert len(one.violations) == 100


def test_published_versions_rise() -> None:
    tally = Tally()
    check_published(tally, "router", [1, 2, 3])
    assert not tally.violated
    check_published(tally, "router", [1, 3, 3])
    assert list(tally.violated) == [RISING]


def test_a_quarantine_without_cause_is_seen(watch: PhoneWatch) -> None:
    watch.on(Quarantined(INSIDE))
    assert watch.tally.violated == {UNSUSPECTED: 1}


def test_a_suspected_ledger_is_seen(watch: PhoneWatch) -> None:
    watch.audit(suspicion="it is behind its anchor", committed=set(), receipted=set())
    assert watch.tally.violated == {UNSUSPECTED: 1}


def test_books_that_agree_pass(watch: PhoneWatch) -> None:
    release(watch)
    watch.on(UploadAcked(INSIDE, ID))
    watch.audit(suspicion="", committed={"aa", "bb"}, receipted={"aa"})
    assert not watch.tally.violated
    assert watch.tally.checked[RECEIPTED] == 2


def test_an_acknowledgement_without_receipt_is_seen(watch: PhoneWatch) -> None:
    release(watch)
    watch.on(UploadAcked(INSIDE, ID))
    watch.audit(suspicion="", committed={"aa"}, receipted=set())
    assert watch.tally.violated == {RECEIPTED: 1}


def test_a_receipt_for_what_was_never_made_is_seen(watch: PhoneWatch) -> None:
    watch.audit(suspicion="", committed={"aa"}, receipted={"bb"})
    assert watch.tally.violated == {RECEIPTED: 1}
