"""Where the cloud keeps what it must not lose: one database and one folder of blobs."""

from cloud.storage.blobs import BlobMissing, Blobs
from cloud.storage.database import Database, DatabaseUnavailable, insert_once

__all__ = ["BlobMissing", "Blobs", "Database", "DatabaseUnavailable", "insert_once"]
