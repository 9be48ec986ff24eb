"""The publisher: turns a passed candidate into a signed release that phones can fetch."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import func, select, update

from cloud.identity import signing_key
from cloud.storage import BlobMissing
from cloud.storage.tables import releases
from cloud.training.releases import Release, Shelf
from protocol.models.spec import SPECS
from protocol.params import Parameters, encode_difference, encode_full
from protocol.release import (
    DIFFERENCE_BASES,
    BlobInfo,
    Manifest,
    open_manifest,
    seal_manifest,
)

__all__ = ["LIFETIME", "Publisher"]

LIFETIME = 90 * 86_400.0
"""Seconds a manifest is good for: a mirror that is cut off can hold phones back no longer."""
RENEWAL = LIFETIME / 3.0
"""Seconds before expiry at which the newest manifest is signed anew."""
_METRICS = ("accuracy", "accuracy_templates", "accuracy_written", "exact")


class Publisher:
    """Signs and serves releases.

    Args:
        database_url: SQLAlchemy URL. blobs: folder of immutable artefacts.
        signing_key_path: file with the cloud's 32-byte Ed25519 seed.
    """

    def __init__(self, database_url: str, blobs: str | Path, signing_key_path: str | Path) -> None:
        self._shelf = Shelf(database_url, blobs)
        self._key = signing_key(signing_key_path)

    def publish(self, candidate_id: int, now: float) -> int | None:
        """Publish a candidate that has passed. Returns its version, or None when it may not be.

        Blobs first, then the row in one transaction: phones see all of a release or none of it.
        Publishing it again returns the same version and writes nothing.
        """
        candidate = self._shelf.get(candidate_id)
        if candidate.status == "published":
            return candidate.version
        if candidate.status != "candidate" or candidate.metrics.get("passed", 0.0) != 1.0:
            return None
        manifest = self._manifest(candidate, now)
        return candidate.version if self._commit(candidate, manifest, now) else None

    def renew(self, now: float) -> list[str]:
        """Sign the newest manifests anew before they expire. Returns the models renewed."""
        renewed = []
        for model in sorted(SPECS):
            newest = self._shelf.published(model)[:1]
            if newest and self._opened(newest[0]).expires - now < RENEWAL:
                fresh = self._opened(newest[0]).model_copy(
                    update={"created": now, "expires": now + LIFETIME}
                )
                self._rewrite(newest[0], seal_manifest(fresh, self._key))
                renewed.append(model)
        return renewed

    def newest(self) -> list[tuple[str, int, bytes]]:
        """Model, version and signed manifest of the newest release of every model, by name."""
        newest = [(model, self._shelf.published(model)[:1]) for model in sorted(SPECS)]
        return [
            (model, found[0].version, found[0].manifest)
            for model, found in newest
            if found and found[0].manifest is not None
        ]

    def blob(self, model: str, version: int, base: int) -> bytes | None:
        """The full blob (base 0) or the difference from `base`; None when there is none."""
        found = [release for release in self._shelf.published(model) if release.version == version]
        if not found:
            return None
        manifest = self._opened(found[0])
        info = manifest.full if base == 0 else manifest.differences.get(base)
        try:
            return None if info is None else self._shelf.blobs.get(info.sha256.hex())
        except BlobMissing:
            return None

    def history(self, model: str) -> list[dict[str, Any]]:
        """Published versions, oldest first: version, accuracy, epsilon, bytes, full_bytes.

        `bytes` is what a phone on the version before fetches (the full blob for the first).
        """
        return [self._line(release) for release in reversed(self._shelf.published(model))]

    def close(self) -> None:
        """Give back the database's file handles."""
        self._shelf.close()

    def _manifest(self, candidate: Release, now: float) -> Manifest:
        target = self._shelf.parameters_of(candidate)
        bases = self._shelf.published(candidate.model)[:DIFFERENCE_BASES]
        return Manifest(
            model=candidate.model,
            version=candidate.version,
            parent=candidate.parent,
            sha256=candidate.sha256,
            full=self._put(encode_full(target)),
            differences={base.version: self._difference(base, target) for base in bases},
            metrics={name: candidate.metrics[name] for name in _METRICS},
            epsilon=candidate.epsilon,
            delta=candidate.delta,
            created=now,
            expires=now + LIFETIME,
            feature_version=SPECS[candidate.model].feature_version,
        )

    def _difference(self, base: Release, target: Parameters) -> BlobInfo:
        return self._put(encode_difference(self._shelf.parameters_of(base), target))

    def _put(self, data: bytes) -> BlobInfo:
        self._shelf.blobs.put(data)
        return BlobInfo(size=len(data), sha256=sha256(data).digest())

    def _commit(self, candidate: Release, manifest: Manifest, now: float) -> bool:
        newest = select(func.max(releases.c.version)).where(
            releases.c.model == candidate.model, releases.c.status == "published"
        )
        with self._shelf.database.write() as connection:
            highest = int(connection.scalar(newest) or 0)
            if highest >= candidate.version:
                # Another run published this one, or a newer one overtook it.
                return highest == candidate.version
            connection.execute(
                update(releases)
                .where(releases.c.id == candidate.id, releases.c.status == "candidate")
                .values(
                    status="published",
                    manifest=seal_manifest(manifest, self._key),
                    published=now,
                )
            )
        return True

    def _rewrite(self, release: Release, manifest: bytes) -> None:
        with self._shelf.database.write() as connection:
            connection.execute(
                update(releases).where(releases.c.id == release.id).values(manifest=manifest)
            )

    def _opened(self, release: Release) -> Manifest:
        return open_manifest(release.manifest or b"", self._key.public)

    def _line(self, release: Release) -> dict[str, Any]:
        manifest = self._opened(release)
        last = max(manifest.differences, default=0)
        fetched = manifest.differences[last].size if last else manifest.full.size
        return {
            "version": release.version,
            "accuracy": manifest.metrics["accuracy"],
            "epsilon": release.epsilon,
            "bytes": fetched,
            "full_bytes": manifest.full.size,
        }
