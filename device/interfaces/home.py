"""A phone on a real machine: its folder, its keys, its senses, its randomness."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import typer

from device.actors import SystemClock
from device.conditions import AdbConditions, ConditionSource, ScriptedConditions, detect
from device.endpoint import Endpoint
from device.interfaces.service import PhoneCalls, reach
from device.language.extractors import Extractor
from device.monitor import private_bytes, steady_heap
from device.observer import Observer, Silent
from device.phone import Machine, Phone
from device.probing import Examiner
from device.recall.embedders import Embedder
from device.settings import Settings, SettingsInvalid, load_settings
from device.sync.websocket import websocket
from device.vault import (
    FolderStorage,
    KeyProtector,
    KeyUnavailable,
    ProtectorKind,
    protector_from_file,
    store_folder,
)
from device.vault.anchor import FileAnchor, anchor_file
from device.vault.protectors import PASSPHRASE_VARIABLE
from device.vault.vault_file import VAULT_FILE, read_vault_file

__all__ = [
    "ask_new_passphrase",
    "ask_passphrase",
    "conditions_of",
    "open_phone",
    "present_protector",
    "reach_phone",
]

NEW_PASSPHRASE_VARIABLE = "REVERIE_NEW_PASSPHRASE"  # noqa: S105 - a variable's name


def conditions_of(script: Path | None, adb: str | None = None) -> ConditionSource:
    """The machine's own senses, those of the phone that adb knows as `adb`, or a script's."""
    if adb and script is None:
        return AdbConditions(adb, now=SystemClock().now)
    return ScriptedConditions.from_json(script, SystemClock().now) if script else detect()


@asynccontextmanager
async def reach_phone(
    folder: Path, script: Path | None = None, adb: str | None = None
) -> AsyncIterator[PhoneCalls]:
    """The phone that lives in `folder`: through its daemon where one runs, else opened here."""
    async with reach(folder, load_settings(folder)) as served:
        if served is not None:
            yield served
            return
    async with open_phone(folder, script, adb=adb) as phone:
        yield phone


@asynccontextmanager
async def open_phone(
    folder: Path,
    script: Path | None = None,
    observer: Observer | None = None,
    adb: str | None = None,
) -> AsyncIterator[Phone]:
    """Open the phone that lives in `folder` and close it afterwards.

    Raises:
        SettingsInvalid, VaultError, LedgerCorrupt: each with one clear line.
    """
    steady_heap()
    settings: Settings = load_settings(folder)
    protector = protector_from_file(folder / VAULT_FILE, _with_passphrase(folder))
    storage = FolderStorage(store_folder(folder))
    try:
        machine = Machine(
            clock=SystemClock(),
            bits=os.urandom,
            storage=storage,
            protector=protector,
            conditions=conditions_of(script, adb),
            rng=np.random.Generator(np.random.Philox(key=secrets.randbits(128))),
            anchor=FileAnchor(anchor_file(folder, os.environ)),
            connect=websocket(settings.cloud_url) if settings.cloud_url else None,
            observer=observer or Silent(),
            examiner=Examiner(),
            embedder=_embedder(settings),
            extractor=_extractor(settings),
            distilling=_distilling(settings),
            private_bytes=private_bytes,
        )
        phone = await Phone.open(machine, settings)
        try:
            yield phone
        finally:
            await phone.close()
    finally:
        storage.close()


def _embedder(settings: Settings) -> Embedder | None:
    """The embedder the settings name; its module is loaded only when one is."""
    if settings.embedder == "builtin":
        return None
    from device.recall.embedders.choice import choose_embedder

    return choose_embedder(settings, os.environ)


def _extractor(settings: Settings) -> Extractor | None:
    """The service that reads dialogue, when the settings choose one."""
    if settings.extractor == "builtin":
        return None
    from device.language.extractors.choice import choose_extractor

    return choose_extractor(settings, os.environ)


def _distilling(settings: Settings) -> Endpoint | None:
    """The service that distils what an agent did, when the settings choose one."""
    if settings.distiller != "endpoint":
        return None
    if not settings.distiller_url:
        raise SettingsInvalid("distiller_url names no service: set it to its address")
    key = os.environ.get(settings.distiller_key_variable, "")
    return Endpoint(settings.distiller_url, model=settings.distiller_model, key=key)


def ask_passphrase(*, confirm: bool) -> str:
    """The passphrase from REVERIE_PASSPHRASE, or asked for on a terminal."""
    known = os.environ.get(PASSPHRASE_VARIABLE, "")
    if known or not sys.stdin.isatty():
        return known
    return str(typer.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True))


def ask_new_passphrase() -> str:
    """The passphrase to change to, from REVERIE_NEW_PASSPHRASE or asked for on a terminal.

    Raises `KeyUnavailable` when there is neither.
    """
    known = os.environ.get(NEW_PASSPHRASE_VARIABLE, "")
    if known or not sys.stdin.isatty():
        if not known:
            raise KeyUnavailable(f"no new passphrase given; set {NEW_PASSPHRASE_VARIABLE}")
        return known
    return str(typer.prompt("New passphrase", hide_input=True, confirmation_prompt=True, err=True))


def present_protector(folder: Path) -> tuple[ProtectorKind, KeyProtector]:
    """Who keeps the secret of the phone in `folder` now."""
    kind = read_vault_file(folder / VAULT_FILE).protector
    return kind, protector_from_file(folder / VAULT_FILE, _with_passphrase(folder))


def _with_passphrase(folder: Path) -> dict[str, str]:
    """The environment, with the passphrase asked for where the phone needs one."""
    environment = dict(os.environ)
    if read_vault_file(folder / VAULT_FILE).protector == "passphrase":
        environment[PASSPHRASE_VARIABLE] = ask_passphrase(confirm=False)
    return environment
