"""What is installed here, and the Ray cluster where one is named."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from cloud.actors.ray_probe import probe
from cloud.doctor.findings import Finding, Scene
from cloud.doctor.running import aside

__all__ = ["installed", "ray"]

PACKAGES = ("aiohttp", "cryptography", "numpy", "opacus", "sqlalchemy", "torch", "uvloop")
OPTIONAL = frozenset({"uvloop"})


async def installed(scene: Scene) -> Sequence[Finding]:
    """Versions, for whoever helps."""
    del scene
    found = {name: _version(name) for name in PACKAGES}
    missing = [name for name, held in found.items() if not held and name not in OPTIONAL]
    named = ", ".join(f"{name} {held}" for name, held in found.items() if held)
    here = f"reverie {_version('reverie') or '?'}, Python {platform.python_version()}"
    if missing:
        do = "pip install 'reverie[cloud]'"
        return [Finding("installed", "fault", f"missing: {', '.join(missing)}", do)]
    return [Finding("installed", "ok", f"{here}; {named}")]


async def ray(scene: Scene) -> Sequence[Finding]:
    """The cluster's answer; nothing where none is named."""
    if not scene.ray_address:
        return []
    if find_spec("ray") is None:
        return [Finding("ray", "fault", "Ray is not installed", "pip install 'reverie[ray]'")]
    found = await aside(lambda: probe(scene.ray_address))
    if found.state == "here":
        return [Finding("ray", "ok", f"the cluster answers ({found.theirs})")]
    if found.state == "other":
        said = f"the cluster runs {found.theirs}, this installation {found.ours}"
        return [Finding("ray", "fault", said, "install the same versions on both")]
    if found.state == "refused":
        do = "give this process the cluster's token (RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH)"
        return [Finding("ray", "fault", "the cluster refuses the token", do)]
    do = "start the head, and check the address and the firewall"
    return [Finding("ray", "fault", "no cluster answers there", do)]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
