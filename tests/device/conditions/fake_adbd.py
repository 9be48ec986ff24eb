"""adbd's end of the wire, on loopback TCP, for Debian's own adb: enough for `adb shell`.

A message is a header of six little-endian words (command, two arguments, length, sum of the body's
bytes, command inverted) and a body. After CNXN each OPEN is a stream: OKAY, WRTE …, CLSE. The v2
shell wraps what it prints in packets (id, length): 1 stdout, 2 stderr, 3 exit code.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Literal

from tests.device.conditions.fake_emulator import Emulator

__all__ = ["FakeAdbd", "running"]

CNXN, AUTH, OPEN, OKAY, CLSE, WRTE = (
    int.from_bytes(name, "little")
    for name in (b"CNXN", b"AUTH", b"OPEN", b"OKAY", b"CLSE", b"WRTE")
)
VERSION, LARGEST = 0x01000001, 256 * 1024
TOKEN, HEADER = 1, struct.Struct("<6I")
BANNER = b"device::ro.product.name=sdk_test;ro.product.model=Test;ro.product.device=emu;"
STDOUT, EXIT = 1, 3

Mood = Literal["ready", "unauthorized", "hang"]
"""hang: a shell opens and never prints."""


class FakeAdbd:
    """Listens on a free port of this machine; `serial` is what adb calls it once connected."""

    def __init__(self, emulator: Emulator, mood: Mood = "ready") -> None:
        self.emulator, self.mood = emulator, mood
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.serial = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Vanish, as an emulator that is closed."""
        for each in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                wire, _ = self._listening.accept()
                self._open.append(wire)
                threading.Thread(target=self._serve, args=(wire,), daemon=True).start()

    def _serve(self, wire: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                command, first, body = _receive(wire)
                if command in (CNXN, AUTH):
                    self._greet(wire, command)
                elif command == OPEN:
                    self._answer(wire, first, body)

    def _greet(self, wire: socket.socket, command: int) -> None:
        if self.mood == "unauthorized":
            if command == CNXN:  # and whatever key is offered, nobody taps Allow
                _send(wire, AUTH, TOKEN, 0, bytes(20))
            return
        _send(wire, CNXN, VERSION, LARGEST, BANNER + b"features=shell_v2,cmd")

    def _answer(self, wire: socket.socket, theirs: int, body: bytes) -> None:
        service, _, line = body.rstrip(b"\0").decode().partition(":")
        _send(wire, OKAY, 1, theirs)
        if self.mood == "hang":
            return
        if not service.startswith("shell"):
            _send(wire, CLSE, 0, theirs)
            return
        printed, code = self.emulator.shell(line)
        packets = _packet(STDOUT, printed.encode()) + _packet(EXIT, bytes([code]))
        for start in range(0, len(packets), LARGEST):
            _send(wire, WRTE, 1, theirs, packets[start : start + LARGEST])
        _send(wire, CLSE, 1, theirs)


@contextlib.contextmanager
def running(emulator: Emulator, mood: Mood = "ready") -> Iterator[FakeAdbd]:
    """One for the time of a test."""
    adbd = FakeAdbd(emulator, mood)
    try:
        yield adbd
    finally:
        adbd.close()


def _packet(kind: int, body: bytes) -> bytes:
    return struct.pack("<BI", kind, len(body)) + body


def _send(wire: socket.socket, command: int, first: int, second: int, body: bytes = b"") -> None:
    head = HEADER.pack(command, first, second, len(body), sum(body), command ^ 0xFFFFFFFF)
    wire.sendall(head + body)


def _receive(wire: socket.socket) -> tuple[int, int, bytes]:
    command, first, _, length, _, _ = HEADER.unpack(_exactly(wire, HEADER.size))
    return command, first, _exactly(wire, length)


def _exactly(wire: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = wire.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data
