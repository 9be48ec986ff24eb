"""What a phone trusts about releases: the client workflow of the TUF specification (section 5).

A `TrustedSet` holds the newest verified file of each role. The rules, each with the attack it
refuses and the reason it gives:

    rule                                                    refuses                    reason
    a file within its size, a set in MAX_FILES, MAX_UPDATE  endless data, slow         endless
                                                            retrieval
    strict schema                                           what else a parser eats    malformed
    enough of the keys that root names have signed          arbitrary software, keys   threshold
                                                            stolen below the threshold
    root N signed by the thresholds of N-1 and of N         the same for root itself   threshold
    no version falls, nor one that a file speaks of         rollback                   rollback
    one version is one file, the one named by the role      mix-and-match              mix-and-match
    above
    the timestamp in use has not expired                    freeze                     freeze
    root, snapshot, targets have not expired                what was forgotten         expired
    nothing was signed in the future                        a wrong clock              future

`update` is all or nothing. Time is the phone's clock, or the newest signed time seen where that is
later: a clock set back does not make an expired file good. A file signed over a day from now, or
expired by over a year, says that the phone's clock is wrong (`MetadataRefused.clock`), not that
anyone attacks it.

When root changes the keys of timestamp or snapshot, both files are forgotten, and targets when its
keys change (5.3.11): a stolen key may have signed a version of 2^53 to lock everyone out.

The first root is the one whose SHA-256 was pinned. Without a pin the first of the files is
trusted, which is for its caller to allow: only in a session whose server has proven its identity.

The four files are some 4 KB; a set is made for a sync and let go of after it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from protocol.metadata import (
    ROLES,
    MetadataReason,
    MetadataRefused,
    MetaFile,
    Role,
    RoleFile,
    Root,
    Signed,
    Snapshot,
    Target,
    Targets,
    Timestamp,
    open_role,
    signed_by,
)

__all__ = ["CLOCK_SLACK", "MAX_FILES", "MAX_UPDATE", "MetadataRefused", "TrustedSet"]

CLOCK_SLACK: Final = 86_400.0
"""Seconds by which a phone's clock may lag the cloud's before a file looks signed in the future."""
IMPLAUSIBLE: Final = 366 * 86_400.0
"""Seconds past its expiry after which a file tells of a wrong clock: no cloud lies idle so long,
and whoever holds phones back would have to have begun a year ago."""
MAX_FILES: Final = 16
"""Files of one update; a phone that missed more roots takes them in several."""
MAX_UPDATE: Final = 32 * 1024
"""Bytes of all files of one update: half a frame, beside the rest of a plan."""

_Part = TypeVar("_Part", Root, Timestamp, Snapshot, Targets)


class TrustedSet:
    """The newest trusted file of each role.

    Args:
        state: role → file, as `state` gave it, from storage that nobody else can write.
        root_sha256: hex hash of the first root to trust; "" trusts the first that comes.
    """

    def __init__(self, state: Mapping[str, bytes], root_sha256: str = "") -> None:
        self._pin = root_sha256
        self._held: dict[Role, RoleFile] = {}
        for data in state.values():
            file = open_role(data)
            self._held[file.role] = file

    @property
    def state(self) -> dict[str, bytes]:
        """Role → file, to be kept."""
        return {role: file.data for role, file in self._held.items()}

    def versions(self) -> dict[str, int]:
        """Role → version held."""
        return {role: file.version for role, file in self._held.items()}

    def update(self, files: Sequence[bytes], now: float) -> None:
        """Take newer files, or nothing of them; ``now`` is the phone's clock in unix seconds.

        Without any the set is checked for freeze and expiry alone.

        Raises:
            MetadataRefused: the set is what it was.
        """
        if len(files) > MAX_FILES or sum(map(len, files)) > MAX_UPDATE:
            raise MetadataRefused("endless", f"{len(files)} files, {sum(map(len, files))} bytes")
        opened = [open_role(data) for data in files]
        draft = _Draft(self._held, self._pin, now)
        draft.take_roots([file for file in opened if file.role == "root"])
        below = {file.role: file for file in opened if file.role != "root"}
        if len(below) != sum(file.role != "root" for file in opened):
            raise MetadataRefused("malformed", "two files of one role")
        for role in ("timestamp", "snapshot", "targets"):
            draft.take(role, below.get(role), alone=not below)
        self._held = draft.held

    def time(self, now: float) -> float:
        """The phone's clock, or the newest signed time seen where that is later."""
        return _time(self._held, now)

    def targets(self) -> Mapping[str, Target]:
        """What may be installed: name → size, hash and terms; empty until all roles are held."""
        if set(self._held) < set(ROLES):
            return {}
        return _as(Targets, self._held["targets"]).targets

    def allows(self, name: str, sha256: bytes, size: int) -> bool:
        """Whether the trusted targets list exactly this file under this name."""
        listed = self.targets().get(name)
        return listed is not None and listed.length == size and listed.hashes.sha256 == sha256.hex()


class _Draft:
    """A set on its way to the next; thrown away when a file is refused."""

    def __init__(self, held: Mapping[Role, RoleFile], pin: str, now: float) -> None:
        self.held = dict(held)
        self._pin = pin
        self._time = _time(held, now)

    def take_roots(self, files: Sequence[RoleFile]) -> None:
        """Follow the chain of roots, one version at a time (5.3)."""
        before = self.held.get("root")
        for file in files:
            self._take_root(file)
        after = self.held.get("root")
        if after is None:
            raise MetadataRefused("threshold", "no root is the one that was pinned")
        self._check_expiry(after, "expired")
        if before is not None and before is not after:
            self._forget_rotated(_as(Root, before), _as(Root, after))

    def _take_root(self, file: RoleFile) -> None:
        held = self.held.get("root")
        if held is None:
            if self._pin and hashlib.sha256(file.data).hexdigest() != self._pin:
                return  # older than the pin: the chain is followed from there
            self._check_signatures(file, _as(Root, file))
        elif file.version <= held.version:
            if file.data == held.data:
                return
            raise MetadataRefused("rollback", f"root {file.version} after {held.version}")
        else:
            if file.version != held.version + 1:
                raise MetadataRefused("mix-and-match", f"root {held.version + 1} is missing")
            self._check_signatures(file, _as(Root, held))
            self._check_signatures(file, _as(Root, file))
        self._check_not_future(file)
        self.held["root"] = file

    def _forget_rotated(self, before: Root, after: Root) -> None:
        """Keys that were replaced may have been stolen: what they signed says nothing any more."""
        changed = {role for role in before.roles if _keys(before, role) != _keys(after, role)}
        if changed & {"timestamp", "snapshot"}:
            self.held.pop("timestamp", None)
            self.held.pop("snapshot", None)
        if "targets" in changed:
            self.held.pop("targets", None)

    def take(self, role: Role, file: RoleFile | None, *, alone: bool) -> None:
        """The next file of a role below root, or a check of the one held (5.4 to 5.6).

        ``alone``: roots came alone, being too many for one update: what their rotations made
        forgotten comes with the next.
        """
        held = self.held.get(role)
        named = self._named(role)
        if file is not None and (held is None or file.data != held.data):
            self._check_link(file, named)
            self._check_signatures(file, _as(Root, self.held["root"]))
            self._check_newer(file, held)
            self._check_not_future(file)
            self.held[role] = held = file
        if held is None and named is not None and not alone:
            raise MetadataRefused("mix-and-match", f"the {role} file in use did not come")
        if held is None or (named is None and role != "timestamp"):
            return  # after a rotation, until the roles above are there again
        self._check_link(held, named)
        self._check_expiry(held, "freeze" if role == "timestamp" else "expired")

    def _named(self, role: Role) -> MetaFile | None:
        """What the role above says the file must be; None for timestamp, and while nothing is."""
        if role == "snapshot" and "timestamp" in self.held:
            return _as(Timestamp, self.held["timestamp"]).meta["snapshot.json"]
        if role == "targets" and "snapshot" in self.held:
            return _as(Snapshot, self.held["snapshot"]).meta["targets.json"]
        return None

    def _check_link(self, file: RoleFile, named: MetaFile | None) -> None:
        if file.role == "timestamp":
            return
        if named is None:
            raise MetadataRefused("mix-and-match", f"a {file.role} file that no file speaks of")
        same = len(file.data) == named.length and file.version == named.version
        if not same or hashlib.sha256(file.data).hexdigest() != named.hashes.sha256:
            raise MetadataRefused("mix-and-match", f"another {file.role} file than the one in use")

    def _check_signatures(self, file: RoleFile, root: Root) -> None:
        if not signed_by(file, root):
            raise MetadataRefused("threshold", f"too few of its keys signed {_name(file)}")

    def _check_newer(self, file: RoleFile, held: RoleFile | None) -> None:
        if held is None:
            return
        if file.version < held.version or _spoken(file.signed) < _spoken(held.signed):
            raise MetadataRefused("rollback", f"{_name(file)} after {_name(held)}")
        if file.version == held.version:
            raise MetadataRefused("mix-and-match", f"two different files are {_name(file)}")

    def _check_not_future(self, file: RoleFile) -> None:
        ahead = file.issued - self._time
        if ahead > CLOCK_SLACK:
            raise MetadataRefused(
                "future",
                f"{_name(file)} was signed {_span(ahead)} from now: check this phone's clock",
                clock=True,
            )
        self._time = max(self._time, file.issued)

    def _check_expiry(self, file: RoleFile, reason: MetadataReason) -> None:
        late = self._time - file.expires
        if late < 0.0:
            return
        if late > IMPLAUSIBLE:
            detail = f"{_name(file)} expired {_span(late)} ago: check this phone's clock"
            raise MetadataRefused(reason, detail, clock=True)
        raise MetadataRefused(reason, f"{_name(file)} expired and the cloud has no newer one")


def _time(held: Mapping[Role, RoleFile], now: float) -> float:
    return max([now, *(file.issued for file in held.values())])


def _as(kind: type[_Part], file: RoleFile) -> _Part:
    assert isinstance(file.signed, kind)
    return file.signed


def _keys(root: Root, role: Role) -> tuple[frozenset[str], int]:
    rule = root.roles[role]
    return frozenset(rule.keyids), rule.threshold


def _spoken(signed: Signed) -> int:
    """The version that a file says the role below has; it may not fall either."""
    if isinstance(signed, Timestamp):
        return signed.meta["snapshot.json"].version
    if isinstance(signed, Snapshot):
        return signed.meta["targets.json"].version
    return 0


def _name(file: RoleFile) -> str:
    return f"{file.role} {file.version}"


def _span(seconds: float) -> str:
    return f"{seconds / 86_400.0:,.0f} days"
