"""Where the cloud keeps what it must not lose: one database and one store of blobs."""

from cloud.storage.blobs import BlobMissing, Blobs, BlobsUnavailable, FolderBlobs, open_blobs
from cloud.storage.database import Database, DatabaseUnavailable, insert_once

__all__ = [
    "BlobMissing",
    "Blobs",
    "BlobsUnavailable",
    "Database",
    "DatabaseUnavailable",
    "FolderBlobs",
    "insert_once",
    "open_blobs",
]
