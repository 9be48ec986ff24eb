"""What a person reads in the terminal when a run is over."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console
from rich.table import Table

from simulator.words import count, times

__all__ = ["say"]

_KIB = 1024.0
_PERCENT = 100.0


def say(report: dict[str, Any], console: Console) -> None:
    """The summary for a person."""
    recall, sent, laws = report["recall"], report["bytes_per_device_day"], report["invariants"]
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    hours = f"{report['window_hours']:,.0f} h idle, charging and on unmetered Wi-Fi"
    table.add_row(
        "Fleet",
        f"{count(report['phones'], 'phone')}, {count(report['virtual_days'], 'day')}; {hours}",
    )
    if fidelity := report.get("fidelity"):
        table.add_row("", fidelity)
    table.add_row(
        "Memory",
        f"{count(report['records'], 'turn')} kept, {count(report['items'], 'item')} drawn",
    )
    table.add_row("Recalls", f"{recall['answered']:,} answered, {_useful(recall)}")
    table.add_row("", f"best memory from: {_shares(recall['by_layer'])}")
    table.add_row("", f"layers chosen by: {_shares(recall['decided_by'])}")
    table.add_row(
        "Uploads",
        f"{report['uploads_acked']:,} acknowledged, {report['uploads_waiting']} waiting; "
        f"{count(report['network']['cuts'], 'connection')} cut on the way",
    )
    table.add_row("Rounds", f"{report['rounds']} closed: {_by_task(report['rounds_by_task'])}")
    for model, release in report["releases"].items():
        table.add_row(model.capitalize(), _story(release))
    table.add_row(
        "Bytes",
        f"{sent['up'] / _KIB:.1f} KiB up, {sent['down'] / _KIB:.1f} KiB down per phone and day",
    )
    table.add_row("Privacy", _privacy(report))
    table.add_row("", report["budget"]["says"])
    if faults := report.get("faults"):
        table.add_row("Faults", _faults(faults))
    table.add_row("Laws", _laws(laws))
    console.print(table)
    for line in laws["violations"]:
        console.print(line, style="red", markup=False)


def _useful(recall: dict[str, Any]) -> str:
    if not recall["answered"]:
        return "none could be judged"
    share = _PERCENT * recall["useful"] / recall["answered"]
    return f"{share:.0f} % held a memory that answers"


def _shares(counts: dict[str, int]) -> str:
    total = sum(counts.values()) or 1
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name} {_PERCENT * n / total:.0f} %" for name, n in ordered) or "none"


def _by_task(rows: dict[str, dict[str, int]]) -> str:
    return ", ".join(
        f"{task} {row['closed']} ({count(row['reports'], 'report')})" for task, row in rows.items()
    )


def _story(release: dict[str, Any]) -> str:
    accuracy = " → ".join(f"{_PERCENT * value:.1f}" for value in release["accuracy"])
    shown = f"; accuracy {accuracy} %" if accuracy else ""
    taken = (
        f"{count(release['published'], 'version')} published, "
        f"{count(release['adopted'], 'adoption')}"
    )
    if release["kept_older"]:
        taken += f"; phones kept the older one {times(release['kept_older'])}"
    return taken + shown


def _privacy(report: dict[str, Any]) -> str:
    worst, middle = report["epsilon"]["max"], report["epsilon"]["median"]
    figure = f"ε {_figure(worst)} worst phone, {_figure(middle)} median"
    if report["budget"]["private"]:
        return f"{figure} (δ {report['epsilon']['delta']:g})"
    return f"[bold red]{figure}: the {report['budget']['name']} budget protects nobody[/]"


def _figure(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else f"{epsilon:.3g}"


def _faults(faults: dict[str, dict[str, float]]) -> str:
    """How many happened, and which were asked for in vain: of those the run has proven nothing."""
    happened = sum(int(told["fired"]) for name, told in faults.items() if ":" not in name)
    silent = [name for name, told in faults.items() if not told["fired"]]
    said = f"{count(happened, 'fault')} happened"
    if not silent:
        return said
    return f"{said}; [yellow]asked for, but never came: {', '.join(silent)}[/]"


def _laws(laws: dict[str, Any]) -> str:
    checks = count(laws["checked"], "check")
    if laws["violated"]:
        return f"[bold red]{count(laws['violated'], 'violation')}[/] in {checks}"
    return f"[green]{checks}, no violation[/]"
