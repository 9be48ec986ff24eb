"""Secret keys: there, this cloud's, nobody else's to read; and how long what they signed holds."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cloud.actors.helper import KEY_FILE
from cloud.doctor.findings import Finding, Scene
from cloud.doctor.running import aside
from cloud.identity import KeyFileUnusable, signing_key
from cloud.releases.keys import RoleKeys
from cloud.releases.repository import Repository
from cloud.storage.pins import known_pins
from cloud.storage.places import FILE
from protocol.metadata import ROLES, Role, RoleFile, Root, key_id, open_role

__all__ = ["keys", "role_files"]

DAY = 86_400.0
OTHERS = stat.S_IRWXG | stat.S_IRWXO
SOON: dict[str, float] = {"timestamp": 2 * DAY, "snapshot": 10 * DAY, "targets": 15 * DAY}
"""Seconds before its end at which a file should long have been signed anew."""
SOON_ROOT = 60 * DAY


async def keys(scene: Scene) -> Sequence[Finding]:
    """The signing key and every other secret file."""
    return await aside(lambda: [*_signing(scene), *_modes(scene)])


def _signing(scene: Scene) -> list[Finding]:
    path = scene.config.signing_key
    do = "copy the cloud's key here, or restore it from a backup"
    if not path.exists():
        return [Finding("signing key", "fault", "there is none", do)]
    try:
        public = signing_key(path).public
    except KeyFileUnusable:
        return [Finding("signing key", "fault", "it cannot be read, or is no key", do)]
    with scene.record() as connection:
        pinned = known_pins(connection).cloud_key
    if pinned and pinned != public:
        said = "it is another cloud's: phones trust another one"
        return [Finding("signing key", "fault", said, do)]
    return [Finding("signing key", "ok", "this cloud's")]


def _modes(scene: Scene) -> list[Finding]:
    open_ = [path for path in _secrets(scene) if path.exists() and path.stat().st_mode & OTHERS]
    if not open_:
        return [Finding("permissions", "ok", "secret files are their owner's alone")]
    state = scene.config.state.absolute()
    named = ", ".join(
        str(path.relative_to(state)) if path.is_relative_to(state) else path.name for path in open_
    )
    do = "run `chmod go-rwx` on them; replace a key others may have read"
    return [Finding("permissions", "fault", f"others may read: {named}", do)]


def _secrets(scene: Scene) -> Iterator[Path]:
    config = scene.config
    yield config.signing_key
    yield from sorted(config.keys.glob("*.key"))
    yield config.state.absolute() / FILE  # its URL may hold a password
    yield config.helper_state / KEY_FILE
    for path in (config.helper_token_file, scene.tls_key):
        if path is not None:
            yield path.absolute()


async def role_files(scene: Scene) -> Sequence[Finding]:
    """What phones install by: signed, not about to end, and the keys to sign it anew at hand."""
    return await aside(lambda: _role_files(scene))


def _role_files(scene: Scene) -> list[Finding]:
    held = RoleKeys(scene.config.keys)
    with scene.record() as connection:
        demo = known_pins(connection).budget == "demo"
        files = [open_role(data) for _, _, data in Repository(held).files(connection)]
    newest = {file.role: file for file in files}  # every root in turn: the last one stays
    if "root" not in newest:
        do = "start `reverie-cloud serve --role all` once"
        return [Finding("role keys", "fault", "nothing is signed yet", do)]
    return [*_ends(scene, newest), _at_hand(held, newest["root"], demo)]


def _ends(scene: Scene, newest: Mapping[Role, RoleFile]) -> Iterator[Finding]:
    ending = []
    for role in ROLES:
        if role not in newest:
            continue
        left = newest[role].expires - scene.now
        if left <= 0:
            do = "start `serve --role all`: it signs them anew; phones take nothing until then"
            if role == "root":
                do = "mount root's keys and run `reverie-cloud keys rotate-root --root FOLDER`"
            yield Finding("metadata", "fault", f"{role} ended {-left / DAY:.0f} days ago", do)
        elif left < SOON.get(role, SOON_ROOT):
            ending.append(f"{role} in {left / DAY:.1f} days")
    if ending:
        do = "see that `serve --role all` runs and has the keys; root's may lie elsewhere"
        yield Finding("metadata", "warning", f"ends: {', '.join(ending)}", do)
    elif all(file.expires > scene.now for file in newest.values()):
        first = min(newest.values(), key=lambda file: file.expires)
        days = (first.expires - scene.now) / DAY
        yield Finding("metadata", "ok", f"{first.role} is the first to end, in {days:.0f} days")


def _at_hand(held: RoleKeys, root: RoleFile, demo: bool) -> Finding:
    assert isinstance(root.signed, Root)
    missing = []
    for role, rule in root.signed.roles.items():
        there = {key_id(key.public) for key in held.all(role)}
        if role != "root" and len(there & set(rule.keyids)) < rule.threshold:
            missing.append(role)
    if missing:
        do = "copy the keys folder here or restore it; only the process that ticks needs it"
        return Finding("role keys", "fault", f"not at hand: {', '.join(missing)}", do)
    said = "all online roles can sign"
    if demo:
        return Finding("role keys", "ok", said)
    if held.all("root"):
        do = "move root's keys to a medium that is only there when needed"
        return Finding("role keys", "warning", f"{said}; root's keys lie here too", do)
    return Finding("role keys", "ok", f"{said}; root's keys are elsewhere")
