"""`reverie-audit`: what left the phones, what it cost, and whether to believe it.

ledger.py     one ledger replayed, with an HTML report; `export` makes a file for somebody else
fleet.py      what a cloud shows, recomputed, and its receipts against ledgers
explain.py    one ledger in plain words, English or Chinese
mechanism.py  the shipped mechanisms put to the test
console.py    exit codes, one-line errors, keys

Exit codes: 0 sound, 1 violation found, 2 cannot be read.
"""

from __future__ import annotations

import typer

from privacy.cli import explain, fleet, ledger, mechanism
from privacy.cli.console import INTERRUPTED

__all__ = ["app", "main"]

app = typer.Typer(
    help="Audit what left the phones, and what it cost.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for group in (ledger, explain, fleet, mechanism):
    app.add_typer(group.app)


def main() -> None:
    """Entry point of ``reverie-audit``."""
    try:
        app()
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
