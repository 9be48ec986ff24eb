"""The helper of the two-server aggregation: there, and the one that is trusted."""

from __future__ import annotations

from collections.abc import Sequence

from cloud.doctor.findings import Finding, Scene
from cloud.doctor.running import aside
from cloud.helper_client import (
    HelperIdentity,
    HelperUnavailable,
    HelperUnsuitable,
    RemoteHelper,
    TokenRefused,
    allows,
)
from cloud.helper_token import read_token
from cloud.identity import KeyFileUnusable
from cloud.storage.pins import Pins, known_pins

__all__ = ["helper"]

SECONDS = 15.0


async def helper(scene: Scene) -> Sequence[Finding]:
    """Asked for its keys, which are held against those once pinned."""
    pins = await aside(lambda: _pins(scene))
    config = scene.config
    if config.helper_url is None:
        return [_embedded(scene, pins)]
    if config.helper_token_file is None:
        do = "give --helper-token-file, as `serve` got it"
        return [Finding("helper", "unknown", "no token to ask it with", do)]
    try:
        remote = RemoteHelper(config.helper_url, SECONDS, read_token(config.helper_token_file))
    except KeyFileUnusable:
        do = "copy the file the helper printed at its start"
        return [Finding("helper", "fault", "its token file cannot be read, or is none", do)]
    try:
        return [_compared(await remote.identity(), pins)]
    except TokenRefused:
        do = "ask its operator for the token file it printed"
        return [Finding("helper", "fault", "it refuses the token", do)]
    except HelperUnavailable:
        do = "ask its operator; until it is back, reports are kept and not summed"
        return [Finding("helper", "fault", "it does not answer, or is no helper", do)]
    finally:
        await remote.close()


def _pins(scene: Scene) -> Pins:
    with scene.record() as connection:
        return known_pins(connection)


def _embedded(scene: Scene, pins: Pins) -> Finding:
    if not pins.helper_signing:
        return Finding("helper", "ok", "none: phones randomise single answers")
    if not scene.config.helper_state.is_dir():
        do = "give --helper and --helper-token-file, as `serve` got them"
        return Finding("helper", "unknown", "it is run apart and was not named", do)
    if pins.budget == "demo":
        return Finding("helper", "ok", "in this process; a demo needs no second operator")
    do = "have a second operator run `reverie-cloud helper`: one who runs both can undo the masks"
    return Finding("helper", "warning", "in this process: it adds no trust", do)


def _compared(found: HelperIdentity, pins: Pins) -> Finding:
    if pins.helper_signing and (pins.helper_sealing, pins.helper_signing) != found[:2]:
        do = "have its operator restore its key file; phones refuse another one too"
        return Finding("helper", "fault", "it has other keys than the pinned ones", do)
    try:
        allows(found, pins.budget or found.budget)
    except HelperUnsuitable:
        do = "run both with the same --budget"
        said = f"it holds the floors of {found.budget}, this cloud those of {pins.budget}"
        return Finding("helper", "fault", said, do)
    return Finding("helper", "ok", "it answers and is the pinned one")
