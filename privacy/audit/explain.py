"""One phone's books in plain words: what left it, when, what that means, and whom to trust."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from privacy.audit.books import LedgerAudit
from privacy.audit.charts import number
from privacy.audit.phrases import PHRASES, Language
from privacy.budget import BUDGETS, YEAR, Budget
from privacy.chain import LATEST

__all__ = ["Explanation", "Remainder", "Section", "explain", "remainders"]

_NEWEST = 5
"""Dates shown."""

_MOST_PROBLEMS = 5

_WEAK_BELIEF = 0.99
"""From here on the bound on a guess is called weak."""

_WEAK_EPSILON = 10.0


@dataclass(frozen=True, slots=True)
class Section:
    """A titled paragraph. ``key``: the same in both languages, for scripts."""

    key: str
    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Remainder:
    """What a stream may still spend at a date.

    ``units``: rho units; ``share``: of the yearly cap; ``reports``: of the budget's own cost.
    ``renews``: when the oldest charge leaves the window (seconds UTC), 0.0 when never.
    """

    stream: str
    units: int
    share: float
    reports: int
    renews: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The page: a headline and sections, in one language."""

    language: Language
    headline: tuple[str, ...]
    sections: tuple[Section, ...]
    remaining: tuple[Remainder, ...]


def explain(audit: LedgerAudit, language: Language, now: float) -> Explanation:
    """The explanation of one audited ledger at ``now`` (seconds UTC, for what is left)."""
    say = _Words(language)
    budget = BUDGETS.get(audit.budget)
    remaining = remainders(audit, now)
    parts = {
        "problems": _problems(audit, say),
        "left": _left(audit, say),
        "when": _when(audit, say),
        "means": _means(audit, say),
        "numbers": _numbers(audit, budget, say),
        "trust": _trust(audit, say),
        "collusion": _collusion(audit, say),
        "year": _year(audit, remaining, say),
        "quarantine": _quarantine(audit, say),
        "limits": _limits(audit, say),
    }
    sections = (Section(key, say(f"title_{key}"), tuple(lines)) for key, lines in parts.items())
    return Explanation(
        language,
        tuple(_headline(audit, say)),
        tuple(section for section in sections if section.lines),
        remaining,
    )


def remainders(audit: LedgerAudit, now: float) -> tuple[Remainder, ...]:
    """What each stream of the ledger's budget may still spend at ``now`` or the last charge."""
    budget = BUDGETS.get(audit.budget)
    if budget is None:
        return ()
    now = max(now, audit.last_date)
    for_good = budget.lifetime_cap - audit.lifetime_rho_units
    found = []
    for stream in budget.streams:
        spent = audit.postings(stream.name)
        recent = [(date, units) for _, date, units in spent if date > now - YEAR]
        yearly = stream.yearly_cap - sum(units for _, units in recent)
        units = max(0, min(yearly, for_good))
        one = stream.yearly_cap // stream.yearly
        renews = min((date for date, _ in recent), default=now) + YEAR if for_good >= one else 0.0
        found.append(Remainder(stream.name, units, units / stream.yearly_cap, units // one, renews))
    return tuple(found)


class _Words:
    """Fills one language's templates."""

    def __init__(self, language: Language) -> None:
        self._phrases = PHRASES[language]

    def __call__(self, key: str, **values: object) -> str:
        return self._phrases[key].format(**values)

    def named(self, prefix: str, name: str, **values: object) -> str:
        """The phrase of a task or stream by name; a plain name where there is none."""
        key = f"{prefix}_{name}"
        if key in self._phrases:
            return self(key, **values)
        other = f"{prefix}_other"
        return self(other, task=name, **values) if other in self._phrases else name


def _headline(audit: LedgerAudit, say: _Words) -> Iterator[str]:
    if audit.problems:
        yield say("violation", count=len(audit.problems))
    elif audit.charges or audit.quarantines:
        yield say("sound")
    else:
        yield say("empty")
    if audit.budget and not audit.private and audit.charges:
        yield say("not_private", budget=audit.budget)


def _problems(audit: LedgerAudit, say: _Words) -> Iterator[str]:
    for problem in audit.problems[:_MOST_PROBLEMS]:
        yield say("problem", entry=problem.entry, what=problem.what)
    if len(audit.problems) > _MOST_PROBLEMS:
        yield say("problems_more", count=len(audit.problems) - _MOST_PROBLEMS)


def _left(audit: LedgerAudit, say: _Words) -> Iterator[str]:
    counts = Counter(charge.task for charge in audit.charges if charge.committed)
    for task, count in sorted(counts.items()):
        yield say.named("task", task, count=count)
    if counts:
        yield say("noise")
    if audit.forfeited:
        yield say("forfeited", count=audit.forfeited)
    yield say("never")


def _when(audit: LedgerAudit, say: _Words) -> Iterator[str]:
    dates = sorted(charge.at for charge in audit.charges if charge.committed)
    if not dates:
        yield say("never_when")
        return
    yield say("between", first=_date(dates[0]), last=_date(dates[-1]))
    newest = [_date(at) for at in dates[-_NEWEST:]]
    yield say("newest", dates=", ".join(newest))


def _means(audit: LedgerAudit, say: _Words) -> Iterator[str]:
    if not audit.charges and not audit.quarantines:
        yield say("means_nothing")
        return
    report, year = audit.total.epsilon.report, audit.total.epsilon.year
    yield say("means_report", belief=_percent(_belief(report)))
    yield say("means_year", belief=_percent(_belief(year)))
    if _belief(year) > _WEAK_BELIEF:
        yield say("means_weak")
    yield say("means_delta", chance=f"{1 / audit.delta:,.0f}")


def _numbers(audit: LedgerAudit, budget: Budget | None, say: _Words) -> Iterator[str]:
    epsilon = audit.total.epsilon
    yearly = number(budget.yearly_epsilon) if budget else "?"
    lifetime = number(budget.lifetime_epsilon) if budget else "?"
    yield say("number_head")
    yield say("number_report", value=number(epsilon.report))
    yield say("number_month", value=number(epsilon.month))
    yield say("number_year", value=number(epsilon.year), cap=yearly)
    yield say("number_lifetime", value=number(epsilon.lifetime), cap=lifetime)
    pure = audit.total.pure
    if pure.lifetime:
        yield say(
            "number_local",
            report=number(pure.report),
            month=number(pure.month),
            year=number(pure.year),
            lifetime=number(pure.lifetime),
        )


def _trust(audit: LedgerAudit, say: _Words) -> Iterator[str]:
    shared = [charge for charge in audit.charges if not charge.pure_epsilon]
    if shared:
        n_min = min(int(charge.parameters.get("n_min", 1)) for charge in shared)
        yield say("trust_two", n_min=n_min)
        yield say("trust_same")
    if len(shared) < len(audit.charges):
        yield say("trust_local")
    if not audit.charges:
        yield say("trust_none")


def _collusion(audit: LedgerAudit, say: _Words) -> Iterator[str]:
    if not audit.charges:
        yield say("collusion_none")
    elif all(charge.pure_epsilon for charge in audit.charges):
        yield say("collusion_local")
    else:
        worst = audit.total.collusion
        yield say("collusion", report=number(worst.report), year=number(worst.year))
        if worst.year > _WEAK_EPSILON:
            yield say("collusion_weak")


def _year(audit: LedgerAudit, remaining: tuple[Remainder, ...], say: _Words) -> Iterator[str]:
    if not remaining and audit.entries:
        yield say("left_unknown")
    for each in remaining:
        stream = say.named("stream", each.stream)
        if each.reports:
            share = _percent(each.share)
            yield say("left", stream=stream, share=share, reports=each.reports)
        elif each.renews:
            yield say("left_none", stream=stream, date=_date(each.renews))
        else:
            yield say("left_for_good", stream=stream)


def _quarantine(audit: LedgerAudit, say: _Words) -> Iterator[str]:
    for each in audit.quarantines:
        yield say(
            "quarantine_yes",
            date=_date(each.at),
            reason=say(f"reason_{each.reason.replace(' ', '_')}"),
        )
    if audit.quarantines:
        yield say("quarantine_why", date=_date(audit.quarantines[-1].at + YEAR))
    else:
        yield say("quarantine_no")


def _limits(audit: LedgerAudit, say: _Words) -> Iterator[str]:
    checked = sum(seen.checked for seen in audit.receipts)
    yield say("limit_receipts", count=len(audit.receipts), checked=checked)
    if audit.charges:
        signed = sum(charge.signed for charge in audit.charges)
        yield say("limit_signed", signed=signed, count=len(audit.charges))
    yield say("limit_code")


def _belief(epsilon: float) -> float:
    """The most sure a guesser can become who had even odds: e^ε / (1 + e^ε)."""
    return 1.0 / (1.0 + math.exp(-epsilon))


def _percent(share: float) -> str:
    """Never rounded up to certainty, nor down to nothing."""
    percent = 100.0 * share
    if percent > 99.9 and share < 1.0:
        return "99.9+"
    return f"{percent:.0f}" if percent >= 10 or percent == 0 else f"{percent:.1f}"


def _date(at: float) -> str:
    return f"{datetime.fromtimestamp(min(at, LATEST), UTC):%Y-%m-%d}"
