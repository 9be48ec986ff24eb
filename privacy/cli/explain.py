"""`reverie-audit explain`: one phone's ledger in plain words."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from privacy.audit.books import LedgerAudit
from privacy.audit.explain import Explanation, explain
from privacy.audit.phrases import Language
from privacy.cli.console import EXIT_VIOLATION, audit_of, parse_key, plain_errors, print_json

__all__ = ["app"]

app = typer.Typer()

_CLOCK: Callable[[], float] = time.time
"""What is left of a year depends on today; nothing else here does."""


@app.command(
    name="explain",
    epilog="Examples:  reverie-audit explain ~/.local/share/reverie  ·  "
    "reverie-audit explain phone.jsonl --language zh  ·  reverie-audit explain phone.jsonl --json",
)
def explain_command(
    path: Annotated[Path, typer.Argument(help="A phone's data folder, or an exported ledger.")],
    language: Annotated[Language, typer.Option(help="en or zh.")] = "en",
    cloud_key: Annotated[
        str, typer.Option(help="The cloud's Ed25519 key (64 hex digits), to check receipts under.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say in plain words what left a phone, what it means, and whom to trust.

    Works from the ledger alone. Exit 0: in order. 1: violation. 2: could not be read.
    """
    key = parse_key(cloud_key, "--cloud-key")
    with plain_errors():
        audit = audit_of(path, key)
    told = explain(audit, language, _CLOCK())
    if as_json:
        print_json(_as_json(audit, told))
    else:
        _show(told, sound=audit.sound)
    if not audit.sound:
        raise typer.Exit(EXIT_VIOLATION)


def _as_json(audit: LedgerAudit, told: Explanation) -> dict[str, Any]:
    return {
        "device": audit.device,
        "sound": audit.sound,
        "delta": audit.delta,
        "epsilon": asdict(audit.total.epsilon),
        "epsilon_if_colluding": asdict(audit.total.collusion),
    } | asdict(told)


def _show(told: Explanation, *, sound: bool) -> None:
    """Chinese lines are left to the terminal to wrap: rich would break them at figures only."""
    wrap = told.language == "en"
    console = Console(soft_wrap=not wrap)
    for line in told.headline:
        console.print(Text(line, style="bold" if sound else "bold red"))
    for section in told.sections:
        console.print()
        console.print(Text(section.title, style="bold underline"))
        for line in section.lines:
            console.print(Padding(Text(line), (0, 0, 0, 2)) if wrap else Text(f"  {line}"))
