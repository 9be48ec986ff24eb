"""Which failures are the weather: something this process needs does not answer just now.

They are met with "busy" and told in one line; any other is a fault of ours and shows its trace.
"""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from cloud.actors.runtime import ActorGone
from cloud.storage import BlobsUnavailable, DatabaseUnavailable

__all__ = ["outage"]


def outage(error: BaseException) -> str:
    """One line on what does not answer, without any value that was on its way there; "" when it
    is no outage."""
    match error:
        case DatabaseUnavailable() | BlobsUnavailable() | ActorGone():
            return str(error)
        case PoolTimeout():
            return "the database answers too slowly: every connection to it is in use"
        case OperationalError() | InterfaceError():
            return f"the database does not answer ({type(error.orig).__name__})"
        case DBAPIError() if error.connection_invalidated:
            return "the connection to the database was lost"
    return ""
