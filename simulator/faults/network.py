"""What goes wrong between a phone and the gateway, and what of it a real connection can show.

Within one connection TCP neither loses, doubles nor reorders, and TLS lets nobody in between do so.
So each abstract fault is modelled by what a phone really meets of it:

| fault          | what happens here                                                            |
|----------------|------------------------------------------------------------------------------|
| loss           | a segment is sent again after 0.2 to 3 s: its frame is late (RFC 6298)       |
| delay          | a frame waits 2 to 40 s in somebody's queue                                  |
| cut            | the connection breaks before the frame arrived, or after it did              |
| cut_mid_frame  | it breaks with part of a frame sent; a WebSocket drops the unfinished message |
| silence        | half open: nothing arrives any more until the keepalive gives up             |
| lost_ack       | the cloud took a frame of an upload; its answer died with the connection     |
| duplication    | a whole session's frames arrive a second time, as a retrying proxy would     |
|                | bring them; the fresh challenge must refuse them                             |
| reordering     | the connection breaks, and its last frame reaches the gateway, where that    |
|                | session still stands, after a newer session has begun                        |
| bandwidth_cap  | 2 to 16 kB a second                                                          |
| captive_portal | HTTP 200 in place of the upgrade                                             |
| turned_away    | HTTP 503 with Retry-After                                                    |
| partition      | no connection comes about for hours, and the open one breaks                 |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from device.sync.channel import CloudUnreachable
from protocol.errors import ProtocolError
from protocol.messages import VERSIONS, Hello, UploadBegin, UploadChunk
from protocol.wire import decode, encode
from simulator.faults.cloud import Spans
from simulator.faults.dice import Dice

__all__ = [
    "LINK",
    "Link",
    "Route",
    "Trouble",
    "frame_trouble",
    "old_hello",
    "partitions",
    "way_to_cloud",
]

_RESENT_AFTER: Final = (0.2, 3.0)
"""Seconds until a lost segment is sent again."""
_QUEUED: Final = (2.0, 40.0)
_CRAWL: Final = (2_000.0, 16_000.0)
"""Bytes per second under a cap."""
_PARTED: Final = (3_600.0, 2 * 86_400.0)
"""Seconds of a partition."""
_RETRY_AFTER: Final = (10, 600)
"""Seconds a gateway that is full asks for."""


@dataclass(frozen=True)
class Link:
    """An ordinary Wi-Fi link. Latency is one way, lognormal, per frame."""

    latency_median: float = 0.025
    """Seconds; MobiPerf's phones ping in 51 ms over Wi-Fi."""
    latency_spread: float = 0.6
    """Standard deviation of the logarithm."""
    bytes_per_second: float = 400_000.0
    """TCP throughput of a middling Wi-Fi link (MobiPerf: 3.2 Mbit/s)."""

    def capped(self, dice: Dice) -> float:
        """Bytes per second of the session that begins now."""
        if not dice.comes("bandwidth_cap"):
            return self.bytes_per_second
        return min(self.bytes_per_second, float(dice.of("bandwidth_cap").uniform(*_CRAWL)))

    def is_upload(self, frame: bytes) -> bool:
        """Whether `frame` is part of an upload."""
        try:
            return isinstance(decode(frame), UploadBegin | UploadChunk)
        except ProtocolError:
            return False


LINK: Final = Link()


@dataclass
class Route:
    """The state of one phone's way to the cloud."""

    late: list[tuple[Any, bytes]] = field(default_factory=list)
    """Frames that an older connection's queue still holds, each with the gateway's end of it."""


class Trouble(NamedTuple):
    """What befalls one frame on its way up."""

    late: float = 0.0
    """Seconds it waits."""
    lost: bool = False
    """The connection breaks before the frame arrives."""
    overtaken: bool = False
    """It arrives after all, behind the next session."""
    silent: bool = False
    """From here on nothing arrives, and nobody says so."""


_NO_TROUBLE: Final = Trouble()
_PER_FRAME: Final = ("loss", "delay", "cut_mid_frame", "reordering", "silence")


def partitions(dice: Dice, seconds: float) -> Spans:
    """When a phone cannot reach the cloud, in seconds since the world of so many began."""
    begins = dice.moments("partition", seconds)
    last = dice.stops("partition")
    drawn = [float(dice.of("partition").uniform(*_PARTED)) for _ in begins]
    return Spans(begins, [min(length, last - at) for at, length in zip(begins, drawn, strict=True)])


def way_to_cloud(dice: Dice) -> None:
    """Raises CloudUnreachable, in the words of the real shell, when something stands in the way."""
    if dice.comes("captive_portal"):
        raise CloudUnreachable("what answers is no cloud (HTTP 200)")
    if dice.comes("turned_away"):
        asked = float(dice.of("turned_away").integers(*_RETRY_AFTER))
        raise CloudUnreachable("the cloud is full just now", asked)


def old_hello(frame: bytes) -> bytes:
    """The greeting of a phone whose app was never updated; any other frame as it is."""
    message = decode(frame)
    if not isinstance(message, Hello):
        return frame
    return encode(message.model_copy(update={"versions": (VERSIONS[0],)}))


def frame_trouble(dice: Dice, frame: bytes) -> Trouble:
    """Draw the lot of one frame that the phone sends."""
    if not dice.planned(*_PER_FRAME):
        return _NO_TROUBLE
    late = 0.0
    if dice.comes("loss"):
        late += float(dice.of("loss").uniform(*_RESENT_AFTER))
    if dice.comes("delay"):
        late += float(dice.of("delay").uniform(*_QUEUED))
    overtaken = dice.comes("reordering")
    part = dice.comes("cut_mid_frame", f"of {len(frame)} bytes")
    return Trouble(late, overtaken or part, overtaken, dice.comes("silence"))
