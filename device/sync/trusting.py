"""What a phone trusts about releases, kept between syncs.

The rules are `protocol.trust.TrustedSet`'s; here is only from where the first root comes and when a
phone insists on it. A root pinned at init is required from then on. Without a pin the first root is
trusted on first use, from a server that has proven to be the pinned cloud, and required from then
on. Before that, as with a cloud that has none, a manifest's own signature is all there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from protocol.errors import ReleaseRefused
from protocol.release import target_name

if TYPE_CHECKING:
    from protocol.metadata import Target
    from protocol.trust import TrustedSet

__all__ = ["Trust"]


class Trust:
    """The trusted role files of one phone.

    Args:
        pin: hex SHA-256 of the root file to begin with; "" trusts the first that is proven.
    """

    def __init__(self, pin: str = "") -> None:
        self.pin = pin
        self.state: dict[str, bytes] = {}
        """Role → file; whoever owns the log keeps it there."""
        self._set: TrustedSet | None = None

    def restore(self, pin: str, state: Mapping[str, bytes]) -> None:
        """Take over what was kept, unless the owner has pinned another root since."""
        if not self.pin or self.pin == pin:
            self.pin, self.state = pin, dict(state)

    @property
    def required(self) -> bool:
        """Whether only what the trusted targets list may be taken."""
        return bool(self.pin or self.state)

    def versions(self) -> dict[str, int]:
        """Role → version held, for the session's proof."""
        return self._trusted().versions() if self.state else {}

    def take(self, files: Sequence[bytes], *, now: float, proven: bool) -> bool:
        """Take newer role files; whether anything changed.

        Raises:
            MetadataRefused: nothing of them is trusted.
        """
        if not self.required and not (files and proven):
            return False
        if not files and not self.state:
            return False  # pinned, and this cloud shows no role files: nothing can be taken
        trusted = self._trusted()
        trusted.update(files, now)
        changed = trusted.state != self.state
        self.state = trusted.state
        return changed

    def time(self, now: float) -> float:
        """The phone's clock, or the newest signed time seen where that is later; unix seconds."""
        return self._trusted().time(now) if self.state else now

    def allows(self, name: str, sha256: bytes, size: int) -> bool:
        """Whether the trusted targets list exactly this file under this name."""
        return bool(self.state) and self._trusted().allows(name, sha256, size)

    def check(self, name: str, data: bytes) -> Target | None:
        """What the targets say of a file, None while nothing is required.

        Raises:
            ReleaseRefused("unlisted"): they do not list exactly this file under this name.
        """
        if not self.required:
            return None
        if not self.allows(name, sha256(data).digest(), len(data)):
            raise ReleaseRefused("unlisted", "the cloud's signed targets do not list it")
        return self._trusted().targets()[name]

    def withdrawn(self, model: str) -> frozenset[int]:
        """Versions of a model that the targets take back."""
        if not self.state:
            return frozenset()
        prefix = target_name(model, 0)[:-1]
        listed = self._trusted().targets().items()
        return frozenset(
            version
            for name, target in listed
            if name.startswith(prefix)
            for version in target.custom.withdrawn
        )

    def _trusted(self) -> TrustedSet:
        # Imported for a sync only: a phone that never syncs need not hold the schema.
        from protocol.trust import TrustedSet

        if self._set is None:
            self._set = TrustedSet(self.state, self.pin)
        return self._set
