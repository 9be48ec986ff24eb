"""The publisher: turns a passed candidate into a signed release that phones can fetch.

    blobs → manifest → targets → snapshot → timestamp

The blobs come first and harm nobody unseen; all the rest is one transaction, so that a publisher
that dies at any step leaves a candidate, which is published when the tick comes again.
"""

from __future__ import annotations

import math
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from cloud.actors.rollout import STAGES, first_percent
from cloud.identity import signing_key
from cloud.randomness import bits_for
from cloud.releases.card import complete, prolonged
from cloud.releases.keys import RoleKeys
from cloud.releases.listing import newest_with, relist, stages_of
from cloud.releases.repository import Repository
from cloud.releases.settled import ListingMark, listing_mark
from cloud.releases.showing import Showing, Staged
from cloud.releases.tables import rollouts
from cloud.storage import BlobMissing
from cloud.storage.tables import releases
from cloud.training.releases import Release, Shelf
from protocol.models.spec import SPECS
from protocol.params import Parameters, encode_difference, encode_full
from protocol.release import (
    DIFFERENCE_BASES,
    FIRST_DIFFERENCE_BASES,
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
_METRICS = ("accuracy", "accuracy_templates", "accuracy_written", "accuracy_probes", "exact")
"""What phones are told; a manifest holds 32 figures at most. The card has all."""


class Publisher:
    """Signs and serves releases.

    Args:
        database_url: SQLAlchemy URL. blobs: folder of immutable artefacts.
        signing_key_path: file with the cloud's 32-byte Ed25519 seed.
        keys: folder of the roles' keys; `keys` beside the signing key when None. Those that are
            missing before the first root is signed are made.
        reads_only: never to be asked to publish or to renew; needs no role's key, and makes none.
        by_hand: only what an operator approved is published.
    """

    def __init__(
        self,
        database_url: str,
        blobs: str | Path,
        signing_key_path: str | Path,
        keys: str | Path | None = None,
        *,
        reads_only: bool = False,
        by_hand: bool = False,
    ) -> None:
        self._shelf = Shelf(database_url, blobs)
        self._key = signing_key(signing_key_path)
        self._by_hand = by_hand
        roles = RoleKeys(keys or Path(signing_key_path).parent / "keys")
        self._repository = Repository(roles)
        self._settled: tuple[ListingMark, float] | None = None
        """How the listing was when it was last gone through, and when something of it grows old."""
        with self._shelf.database.read() as connection:
            unsigned = self._repository.root(connection) is None
        if unsigned and not reads_only:
            roles.ensure(bits_for(None, "keys"))

    def publish(self, candidate_id: int, now: float) -> int | None:
        """Publish a candidate that has passed. Returns its version, or None when it may not be,
        or not yet.

        It begins at the first stage of a rollout, or goes to everyone at once: the first of its
        model, and all of a small fleet. Publishing it again returns the same version and writes
        nothing; while another is staged, none is published.
        """
        candidate = self._shelf.get(candidate_id)
        if candidate.status in ("published", "staged"):
            return candidate.version
        with self._shelf.database.read() as connection:
            if self._ready(connection, candidate_id) is None:
                return None
        manifest = self._manifest(candidate, now)
        return candidate.version if self._commit(candidate, manifest, now) else None

    def renew(self, now: float) -> list[str]:
        """Sign anew what would expire: the newest manifests, and the role files that say which
        they are. Gives the models renewed."""
        if self._is_settled(now):
            return []
        renewed, due = [], math.inf
        with self._shelf.database.write() as connection:
            for model in sorted(SPECS):
                row = newest_with(connection, model, "published")
                if row is None:
                    continue
                expires = self._opened(row.manifest).expires
                if expires - now < RENEWAL:
                    fresh = self._opened(row.manifest).model_copy(
                        update={"created": now, "expires": now + LIFETIME}
                    )
                    connection.execute(
                        update(releases)
                        .where(releases.c.id == row.id)
                        .values(
                            manifest=seal_manifest(fresh, self._key),
                            card=prolonged(row.card, fresh.expires),
                        )
                    )
                    renewed.append(model)
                    expires = fresh.expires
                due = min(due, expires - RENEWAL)
            relist(connection, self._repository, now)
            mark, due = listing_mark(connection), min(due, self._repository.due(connection))
        self._settled = mark, due
        return renewed

    def _is_settled(self, now: float) -> bool:
        if self._settled is None or now >= self._settled[1]:
            return False
        with self._shelf.database.read() as connection:
            return self._settled[0] == listing_mark(connection)

    def showing(self) -> Showing:
        """What phones are shown: manifests, by stage, and the role files."""
        newest = tuple(self.newest())
        first = tuple((model, version, self._for_first(blob)) for model, version, blob in newest)
        with self._shelf.database.read() as connection:
            staged = [
                Staged(
                    model,
                    row.version,
                    stages_of(connection, model)[row.version].percent,
                    row.manifest,
                )
                for model in sorted(SPECS)
                if (row := newest_with(connection, model, "staged")) is not None
            ]
            files = tuple(self._repository.files(connection))
        return Showing(newest, first, tuple(staged), files)

    def root(self) -> bytes:
        """The first root's file, whose SHA-256 phones pin; b"" before the first `renew`."""
        with self._shelf.database.read() as connection:
            return self._repository.first_root(connection)

    def newest(self) -> list[tuple[str, int, bytes]]:
        """Model, version and signed manifest of the newest release of every model that everyone
        may take, by name."""
        newest = [(model, self._shelf.published(model)[:1]) for model in sorted(SPECS)]
        return [
            (model, found[0].version, found[0].manifest)
            for model, found in newest
            if found and found[0].manifest is not None
        ]

    def blob(self, model: str, version: int, base: int) -> bytes | None:
        """The full blob (base 0) or the difference from `base`; None when there is none."""
        query = select(releases.c.manifest).where(
            releases.c.model == model,
            releases.c.version == version,
            releases.c.status.in_(("published", "staged")),
        )
        with self._shelf.database.read() as connection:
            found = connection.scalars(query).first()
        if found is None:
            return None
        manifest = self._opened(found)
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
            metrics={
                name: candidate.metrics[name] for name in _METRICS if name in candidate.metrics
            },
            epsilon=candidate.epsilon,
            delta=candidate.delta,
            created=now,
            expires=now + LIFETIME,
            feature_version=SPECS[candidate.model].feature_version,
            policy=dict(candidate.policy or {}),
        )

    def _difference(self, base: Release, target: Parameters) -> BlobInfo:
        return self._put(encode_difference(self._shelf.parameters_of(base), target))

    def _put(self, data: bytes) -> BlobInfo:
        self._shelf.blobs.put(data)
        return BlobInfo(size=len(data), sha256=sha256(data).digest())

    def _commit(self, candidate: Release, manifest: Manifest, now: float) -> bool:
        current = ("published", "staged")
        newest = select(func.max(releases.c.version)).where(
            releases.c.model == candidate.model, releases.c.status.in_(current)
        )
        with self._shelf.database.write() as connection:
            highest = int(connection.scalar(newest) or 0)
            if highest >= candidate.version:
                # Another run published this one, or a newer one overtook it.
                return highest == candidate.version
            if newest_with(connection, candidate.model, "staged") is not None:
                return False
            row = self._ready(connection, candidate.id)
            if row is None:
                return False
            self._enter(connection, row, manifest, now)
            relist(connection, self._repository, now)
        return True

    def _ready(self, connection: Connection, candidate_id: int) -> Row[Any] | None:
        """The candidate, if it may be published now: what an operator rejects, or takes back from
        under it, while it is on its way here is not."""
        row = connection.execute(select(releases).where(releases.c.id == candidate_id)).one()
        current = newest_with(connection, row.model, "published")
        version = 0 if current is None else current.version
        judged = row.metrics.get("passed") == 1.0 and row.metrics.get("against", version) == version
        allowed = not self._by_hand or row.approved is not None
        return row if row.status == "candidate" and judged and allowed else None

    def _enter(
        self, connection: Connection, candidate: Row[Any], manifest: Manifest, now: float
    ) -> None:
        percent = first_percent(connection) if candidate.parent else STAGES[-1]
        connection.execute(
            update(releases)
            .where(releases.c.id == candidate.id)
            .values(
                status="published" if percent == STAGES[-1] else "staged",
                manifest=seal_manifest(manifest, self._key),
                card=complete(connection, candidate, manifest, now),
                published=now,
            )
        )
        stage = {"model": candidate.model, "version": candidate.version, "percent": percent}
        connection.execute(insert(rollouts).values(started=now, since=now, **stage))

    def _for_first(self, manifest: bytes) -> bytes:
        """A manifest as phones of protocol version 1 can read it: with fewer differences, and
        without a retrieval policy, of which they know nothing."""
        opened = self._opened(manifest)
        if len(opened.differences) <= FIRST_DIFFERENCE_BASES and not opened.policy:
            return manifest
        bases = sorted(opened.differences)[-FIRST_DIFFERENCE_BASES:]
        fewer = {base: opened.differences[base] for base in bases}
        poorer = opened.model_copy(update={"differences": fewer, "policy": {}})
        return seal_manifest(poorer, self._key)

    def _opened(self, manifest: bytes | None) -> Manifest:
        return open_manifest(manifest or b"", self._key.public)

    def _line(self, release: Release) -> dict[str, Any]:
        manifest = self._opened(release.manifest)
        last = max(manifest.differences, default=0)
        fetched = manifest.differences[last].size if last else manifest.full.size
        return {
            "version": release.version,
            "accuracy": manifest.metrics["accuracy"],
            "epsilon": release.epsilon,
            "bytes": fetched,
            "full_bytes": manifest.full.size,
        }
