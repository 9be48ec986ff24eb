"""The four charts of the HTML report, drawn from an audit's own figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from privacy.accounting import epsilon
from privacy.audit.books import LedgerAudit
from privacy.audit.charts import Bar, Series, bar_chart, time_chart
from privacy.audit.odometer import to_epsilon
from privacy.budget import YEAR

__all__ = ["Card", "cards"]

Card = tuple[str, str, Sequence[tuple[int, str]], str]
"""Title and text (keys of the page's words), legend (colour, key), and the chart."""

_COLOURS = {"counts": 1, "models": 2}
_OTHER = 4
_PERCENT = 100.0
_MOST_STEPS = 600
"""Points of the running epsilon: each costs a search."""


def cards(audit: LedgerAudit) -> list[Card]:
    """The charts, in the order they are shown."""
    return [_caps(audit), _running(audit), _reports(audit), _trust(audit)]


def _caps(audit: LedgerAudit) -> Card:
    """Spending of the rolling year, in % of its cap."""
    series, legend = [], []
    for spending in audit.streams:
        if spending.yearly_cap:
            colour = _COLOURS.get(spending.stream, _OTHER)
            points = [
                (at, _PERCENT * units / spending.yearly_cap)
                for at, units in _rolling(audit.postings(spending.stream), audit.last_date)
            ]
            series.append(Series(spending.stream, colour, points))
            legend.append((colour, spending.stream if colour != _OTHER else "unknown"))
    marks = [each.at for each in audit.quarantines]
    svg = time_chart(series, title="Rolling year, % of cap", unit="%", limit=_PERCENT, marks=marks)
    return "chart_cap", "chart_cap_text", legend, svg


def _rolling(
    postings: Sequence[tuple[float, float, int]], last: float
) -> Iterator[tuple[float, int]]:
    """(date, units that count against the year) whenever something was spent or lapsed."""
    changes = sorted(
        [(at, units) for at, _, units in postings]
        + [(date + YEAR, -units) for _, date, units in postings]
    )
    total = 0
    for at, units in changes:
        if at > last:
            break
        total += units
        yield at, total
    if postings:
        yield last, total


def _running(audit: LedgerAudit) -> Card:
    """Epsilon of everything so far."""
    spent = sorted(
        posting for stream in audit.streams for posting in audit.postings(_name(stream.stream))
    )
    every = -(-len(spent) // _MOST_STEPS) or 1
    exact, bound, total = [], [], 0
    for index, (at, _, units) in enumerate(spent):
        total += units
        if index % every == 0 or index == len(spent) - 1:
            exact.append((at, to_epsilon(total, audit.delta)))
            bound.append((at, epsilon(total, audit.delta)))
    series = [Series("exact", 1, exact), Series("zCDP", 2, bound, dashed=True)]
    legend = [(1, "exact"), (2, "bound")]
    linear, local = 0.0, []
    for charge in audit.charges:
        if charge.pure_epsilon:
            linear += charge.pure_epsilon
            local.append((charge.latest, linear))
    if local:
        series.append(Series("local, linear", 3, local, dashed=True))
        legend.append((3, "linear"))
    svg = time_chart(series, title="Epsilon so far")
    return "chart_total", "chart_total_text", legend, svg


def _reports(audit: LedgerAudit) -> Card:
    series, legend = [], []
    for spending in audit.streams:
        name = _name(spending.stream)
        charges = [charge for charge in audit.charges if charge.stream == name]
        if charges:
            colour = _COLOURS.get(name, _OTHER)
            points = [(charge.at, charge.epsilon) for charge in charges]
            lost = frozenset(i for i, charge in enumerate(charges) if not charge.committed)
            series.append(Series(spending.stream, colour, points, kind="stems", hollow=lost))
            legend.append((colour, name if colour != _OTHER else "unknown"))
    marks = [each.at for each in audit.quarantines]
    svg = time_chart(series, title="Epsilon of each report", marks=marks)
    return "chart_reports", "chart_reports_text", legend, svg


def _trust(audit: LedgerAudit) -> Card:
    apart, together = audit.total.epsilon, audit.total.collusion
    rows = []
    for label, window in (
        ("1 ×", "report"),
        ("30 d", "month"),
        ("365 d", "year"),
        ("∞", "lifetime"),
    ):
        rows.append(Bar(label, getattr(apart, window), 1))
        rows.append(Bar("", getattr(together, window), 4))
    svg = bar_chart(rows, title="Epsilon apart and colluding")
    return "chart_trust", "chart_trust_text", [(1, "apart"), (4, "together")], svg


def _name(stream: str) -> str:
    return "" if stream == "unknown" else stream
