"""How much memory a world takes: this process and those it has started."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["resident"]

_PROC: Final = Path("/proc")
_KIB: Final = 1024


def resident(root: int, proc: Path = _PROC) -> int:
    """Resident bytes of process `root` and all under it, pages that several share counted once for
    each; 0 where the system does not tell (anything but Linux)."""
    parents: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for folder in proc.glob("[0-9]*"):
        try:
            fields = dict(
                line.split(":", 1)
                for line in (folder / "status").read_text().splitlines()
                if ":" in line
            )
        except OSError:
            continue  # it has ended meanwhile
        number = int(folder.name)
        parents[number] = int(fields.get("PPid", "0"))
        sizes[number] = int(fields.get("VmRSS", "0 kB").split()[0]) * _KIB
    return sum(size for number, size in sizes.items() if _under(number, root, parents))


def _under(number: int, root: int, parents: dict[int, int]) -> bool:
    while number not in (0, root):
        number = parents.get(number, 0)
    return number == root
