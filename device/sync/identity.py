"""Who this phone is to the cloud: an Ed25519 key made here, and the pseudonym it was given."""

from __future__ import annotations

import msgpack

from device.vault import SealedLog
from privacy import BitSource
from protocol.identity import DeviceKey

__all__ = ["Identity"]


class Identity:
    """The only owner of the log it is given. A fresh key is made when the log is empty."""

    def __init__(self, log: SealedLog, bits: BitSource) -> None:
        self._log = log
        self.device_id = ""
        """The cloud's name for this phone; empty until it is enrolled."""
        self.least_version = 1
        """The protocol version the pinned cloud has once proven itself in: no less is spoken
        again, so that nobody in between can talk this phone out of the proof."""
        seed = b""
        for _, payload in log.read():
            what, value = msgpack.unpackb(payload)
            if what == "seed":
                seed = value
            elif what == "version":
                self.least_version = value
            else:
                self.device_id = value
        if not seed:
            seed = bits(32)
            log.append(msgpack.packb(["seed", seed]))
        self.key = DeviceKey(seed)

    def spoke(self, version: int) -> None:
        """The cloud has proven itself in a session of `version`. Durable on return."""
        if version > self.least_version:
            self._log.append(msgpack.packb(["version", version]))
            self.least_version = version

    def enrolled(self, device_id: str) -> None:
        """Remember the pseudonym the cloud gave. Durable on return."""
        self._log.append(msgpack.packb(["device_id", device_id]))
        self.device_id = device_id
