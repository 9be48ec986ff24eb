"""What of ours listens beyond this machine: whoever reaches a port of Ray has a shell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from cloud.doctor.findings import Finding, Scene
from cloud.doctor.running import aside

__all__ = ["ports"]

LISTENING = "0A"
LOOPBACK4 = "7F"
"""How /proc ends an address of 127.0.0.0/8: its bytes are in host order."""
LOOPBACK6 = ("00000000000000000000000001000000", "0000000000000000FFFF00000100007F")
RAY_WORDS = ("gcs_server", "raylet", "ray::", "ray.util.client", "/ray/", "dashboard")
GATEWAY_WORDS = ("reverie-cloud", "cloud.cli")
SHOWN_PORTS = 8


async def ports(scene: Scene) -> Sequence[Finding]:
    """Sockets that listen on an address other machines may reach, by whose they are."""
    return await aside(lambda: _ports(scene.proc))


def _ports(proc: Path) -> list[Finding]:
    if not (proc / "net" / "tcp").is_file():
        return [Finding("ports", "unknown", "this system does not tell", "see `ss -ltnp`")]
    wide = dict(_wide(proc))
    owned = _owners(proc, set(wide))
    ray = sorted({wide[inode] for inode, whose in owned.items() if whose == "ray"})
    gateway = sorted({wide[inode] for inode, whose in owned.items() if whose == "gateway"})
    found = []
    if ray:
        do = "close them with a firewall or NetworkPolicy, and set RAY_AUTH_MODE=token"
        found.append(Finding("ports", "fault", f"Ray listens beyond loopback: {_named(ray)}", do))
    if gateway:
        do = "right for a gateway with TLS; close it where a proxy in front is the way in"
        said = f"this cloud listens beyond loopback: {_named(gateway)}"
        found.append(Finding("ports", "warning", said, do))
    return found or [Finding("ports", "ok", "nothing of ours listens beyond loopback")]


def _wide(proc: Path) -> Iterator[tuple[str, int]]:
    """(inode, port) of every listening socket that is not bound to loopback."""
    for name in ("tcp", "tcp6"):
        with suppress(OSError, ValueError, IndexError):
            for line in (proc / "net" / name).read_text("ascii").splitlines()[1:]:
                fields = line.split()
                address, _, port = fields[1].partition(":")
                here = address.endswith(LOOPBACK4) if len(address) == 8 else address in LOOPBACK6
                if fields[3] == LISTENING and not here:
                    yield fields[9], int(port, 16)


def _owners(proc: Path, inodes: set[str]) -> dict[str, str]:
    """Inode → "ray" or "gateway", for the processes this user may look into."""
    found: dict[str, str] = {}
    for process in proc.iterdir():
        if not inodes or not process.name.isdecimal():
            continue
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().decode("utf-8", "replace")
            whose = _whose(words)
            if not whose:
                continue
            for link in (process / "fd").iterdir():
                with suppress(OSError):
                    inode = str(link.readlink()).removeprefix("socket:[").removesuffix("]")
                    if inode in inodes:
                        found[inode] = whose
    return found


def _whose(words: str) -> str:
    if any(word in words for word in GATEWAY_WORDS):
        return "gateway"
    return "ray" if any(word in words for word in RAY_WORDS) else ""


def _named(ports: Sequence[int]) -> str:
    shown = ", ".join(str(port) for port in ports[:SHOWN_PORTS])
    return shown + (" …" if len(ports) > SHOWN_PORTS else "")
