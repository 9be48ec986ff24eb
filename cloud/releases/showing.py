"""What one phone is shown of the releases: made once a tick, asked for every session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from protocol.metadata import Role
from protocol.release import in_cohort
from protocol.trust import MAX_FILES, MAX_UPDATE

__all__ = ["Showing", "Staged"]


@dataclass(frozen=True, slots=True)
class Staged:
    """A release that `percent` of the phones may take."""

    model: str
    version: int
    percent: int
    manifest: bytes


@dataclass(frozen=True, slots=True)
class Showing:
    """Manifests and role files of one moment.

    ``newest``: (model, version, manifest) that every phone may take; ``first``: the same for phones
    of protocol version 1, whose manifests have fewer differences. ``files``: (role, version, file).
    """

    newest: tuple[tuple[str, int, bytes], ...] = ()
    first: tuple[tuple[str, int, bytes], ...] = ()
    staged: tuple[Staged, ...] = ()
    files: tuple[tuple[Role, int, bytes], ...] = ()

    def releases_for(
        self, device_id: str, have: Mapping[str, int], protocol_version: int
    ) -> tuple[bytes, ...]:
        """The manifests of what a phone with these versions (model → version) may take and does
        not follow yet. A phone of protocol version 1 knows no stages: it waits for the last."""
        if protocol_version < 2:
            return tuple(blob for model, version, blob in self.first if have.get(model) != version)
        early = {
            one.model: (one.version, one.manifest)
            for one in self.staged
            if in_cohort(device_id, one.model, one.version, one.percent)
        }
        shown = {model: (version, blob) for model, version, blob in self.newest} | early
        return tuple(blob for model, (version, blob) in shown.items() if have.get(model) != version)

    def metadata_for(self, held: Mapping[str, int]) -> tuple[bytes, ...]:
        """The role files that are newer than those held (role → version).

        After a change of root all of them: the phone forgets what rotated keys had signed. A phone
        that missed more roots than one update may hold gets as many as fit, and the rest when it
        comes again.
        """
        roots = [
            data
            for role, version, data in self.files
            if role == "root" and version > held.get("root", 0)
        ]
        others = [
            data
            for role, version, data in self.files
            if role != "root" and (roots or version > held.get(role, 0))
        ]
        fitting = _fitting(roots)
        if len(fitting) < len(roots) or not _fits([*roots, *others]):
            return tuple(fitting)
        return (*roots, *others)


def _fitting(roots: Sequence[bytes]) -> list[bytes]:
    """The longest beginning of a chain of roots that one update may hold."""
    return next(list(roots[:n]) for n in range(len(roots), -1, -1) if _fits(roots[:n]))


def _fits(files: Sequence[bytes]) -> bool:
    return len(files) <= MAX_FILES and sum(map(len, files)) <= MAX_UPDATE
