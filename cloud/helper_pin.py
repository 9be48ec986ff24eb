"""Trust on first use: the helper a cloud once worked with is the one it goes on working with."""

from __future__ import annotations

import structlog

from cloud.helper_client import (
    HelperChanged,
    HelperIdentity,
    HelperPort,
    HelperUnavailable,
    TokenRefused,
    allows,
)
from cloud.storage.database import Database
from cloud.storage.pins import known_pins, pin

__all__ = ["pinned_helper", "trusted_helper"]

log = structlog.get_logger("reverie.cloud")


async def trusted_helper(
    database: Database, helper: HelperPort, budget: str, now: float, *, accept_new: bool
) -> HelperIdentity:
    """The helper's identity, pinned at first use.

    With a pin, a helper that is silent just now does not keep the cloud from starting: reports
    are taken, and summed when it is back. Raises HelperChanged, HelperUnsuitable, TokenRefused,
    and HelperUnavailable where there is no pin yet.
    """
    pinned = pinned_helper(database, budget)
    try:
        found = await helper.identity()
    except TokenRefused:
        raise
    except HelperUnavailable as error:
        if pinned is None or accept_new:
            raise
        log.warning("helper_unavailable", reason=str(error))
        return pinned
    allows(found, budget)
    if pinned is not None and not accept_new and pinned[:2] != found[:2]:
        raise HelperChanged
    if pinned is None or pinned[:2] != found[:2]:
        with database.write() as connection:
            pin(connection, "helper", found.sealing + found.signing, now)
    return found


def pinned_helper(database: Database, budget: str) -> HelperIdentity | None:
    """The trusted helper's keys under the name of the cloud's own budget; None before its first
    use."""
    with database.read() as connection:
        known = known_pins(connection)
    if not known.helper_signing:
        return None
    return HelperIdentity(known.helper_sealing, known.helper_signing, budget)
