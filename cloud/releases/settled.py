"""Whether the listing is still what it was when all of it was last gone through, asked cheaply:
four small queries instead of two dozen and as many signatures checked."""

from __future__ import annotations

from typing import TypeAlias

from sqlalchemy import Connection, select

from cloud.documents.tables import documents
from cloud.releases.tables import role_files, rollouts
from cloud.storage.tables import releases

__all__ = ["ListingMark", "listing_mark"]

ListingMark: TypeAlias = tuple[tuple[object, ...], ...]
"""Equal for equal listings; nothing else may be read from it."""

_RELEASES = select(releases.c.id, releases.c.version, releases.c.status).order_by(releases.c.id)
_STAGES = select(rollouts.c.model, rollouts.c.version, rollouts.c.percent).order_by(
    rollouts.c.model, rollouts.c.version
)
_DOCUMENTS = select(documents.c.name, documents.c.version).order_by(
    documents.c.name, documents.c.version
)
_FILES = select(role_files.c.role, role_files.c.version, role_files.c.signed).order_by(
    role_files.c.role, role_files.c.version
)


def listing_mark(connection: Connection) -> ListingMark:
    """The mark of what is current and of the files that say so. A manifest that is signed anew is
    listed at once, which makes a new file."""
    return tuple(
        tuple(tuple(row) for row in connection.execute(query))
        for query in (_RELEASES, _STAGES, _DOCUMENTS, _FILES)
    )
