"""`reverie-fleet run --cloud`: the load test in the terminal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from simulator.deployed import LoadOptions, load
from simulator.progress import following
from simulator.words import count

__all__ = ["REPORT", "load_and_say"]

REPORT: Final = "load.json"


def load_and_say(options: LoadOptions, out: Path, console: Console, *, as_json: bool) -> int:
    """Run it, write ``load.json`` into `out`, tell what came of it. Gives the violations.

    Raises:
        CloudRefused: it cannot begin. OSError: the report cannot be written.
    """
    scenario = options.scenario
    with following(Console(stderr=True), scenario.phones, scenario.days) as told:
        report = load(options, told)
    content = json.dumps(report, ensure_ascii=False, indent=2) + "\n"
    (out / REPORT).write_text(content, encoding="utf-8")
    if as_json:
        sys.stdout.write(content)
    else:
        _say(report, console)
        console.print(f"\nReport: {out / REPORT}", style="dim")
    return int(report["invariants"]["violated"])


def _say(report: dict[str, Any], console: Console) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    speed = report["speed"]["reached"]
    took = f"{report['seconds']:,.0f} s at {speed:,.0f} times real time"
    table.add_row(
        "Fleet",
        f"{count(report['phones'], 'phone')}, {count(report['virtual_days'], 'day')}; {took}",
    )
    sessions = report["sessions"]
    table.add_row("Sessions", f"{sessions['opened']:,}, {sessions['per_second']:g} a second")
    for how, times in sessions["ended"].items():
        table.add_row("", f"{times:,} {how}")
    for name, told in report["latency_ms"].items():
        if told["count"]:
            table.add_row(
                name.capitalize(),
                f"median {told['p50']:,.1f} ms, 90 % {told['p90']:,.1f}, 99 % {told['p99']:,.1f}, "
                f"most {told['max']:,.1f}",
            )
    uploads = report["uploads"]
    table.add_row(
        "Uploads", f"{uploads['acked']:,} of {uploads['released']:,} acknowledged, "
        f"{uploads['waiting']:,} waiting"
    )  # fmt: skip
    if report["refusals"]:
        said = ", ".join(f"{times:,} {code}" for code, times in report["refusals"].items())
        table.add_row("Refused", said)
    sent = report["bytes"]
    table.add_row(
        "Bytes",
        f"{sent['up_per_device_day']:,.0f} up and {sent['down_per_device_day']:,.0f} down a device "
        "and day",
    )
    laws = report["invariants"]
    table.add_row("Laws", f"{laws['checked']:,} checks, {laws['violated']:,} violated")
    console.print(table)
    for violation in laws["violations"]:
        console.print(violation, style="red", markup=False, highlight=False)
    if not report["kept_up"]:
        asked = report["speed"]["asked"]
        console.print(
            f"This machine reached {speed:,.0f} of {asked:,.0f} times real time: "
            "latencies are partly its own. Take a lower --speed or fewer --phones.",
            style="yellow",
        )
