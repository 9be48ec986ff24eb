"""The HTML report of one audited ledger: one file, no script, nothing fetched, both languages.

The reader switches language with two radio buttons and a style rule. A content security policy
allows the one style sheet by its hash and nothing else, so even a name that got past escaping
could not load or run anything.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape

from privacy.audit.books import Charge, LedgerAudit, StreamSpending
from privacy.audit.charts import number
from privacy.audit.crosscheck import CrossCheck
from privacy.audit.page_charts import cards
from privacy.audit.page_style import STYLE
from privacy.audit.page_words import WORDS

__all__ = ["render"]

_MOST_CHARGES = 120
_WINDOWS = ("report", "month", "year", "lifetime")


def render(audit: LedgerAudit, accountants: CrossCheck | None = None) -> str:
    """The page of an audit, with the accountants' table where they were asked."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    name = escape(audit.device) or both("nobody")
    body = "\n".join(
        (
            f"<h1>{both('title')} {name}</h1>",
            _verdict(audit, accountants),
            _facts(audit),
            _tiles(audit),
            f'<div class="cards">{"".join(_card(*card) for card in cards(audit))}</div>',
            _odometer(audit),
            _accountants(accountants),
            _quarantines(audit),
            _charges(audit.charges),
            f'<section class="card"><h2>{both("trust")}</h2><p>{both("trust_text")}</p></section>',
        )
    )
    return _PAGE.format(
        policy=policy, title=escape(audit.device or "Reverie"), style=STYLE, body=body
    )


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Privacy ledger · 隐私账本 · {title}</title>
<style>{style}</style>
</head>
<body>
<input type="radio" name="language" id="en" checked><label for="en" lang="en">English</label>
<input type="radio" name="language" id="zh"><label for="zh" lang="zh-CN">中文</label>
<main>
{body}
</main>
</body>
</html>
"""


def both(key: str, **values: object) -> str:
    """A text in both languages; the style sheet shows one. Values are escaped."""
    safe = {name: escape(str(value)) for name, value in values.items()}
    english, chinese = (escape(text).format(**safe) for text in WORDS[key])
    return f'<span lang="en">{english}</span><span lang="zh-CN">{chinese}</span>'


def _verdict(audit: LedgerAudit, accountants: CrossCheck | None) -> str:
    problems = [f"{problem.entry}: {problem.what}" for problem in audit.problems[:_MOST_CHARGES]]
    problems += list(accountants.disagreements) if accountants else []
    kind, text = ("bad", "bad_text") if problems else ("ok", "ok_text")
    if not problems and not audit.private and audit.charges:
        kind, text = "not_private", "demo_text"
    parts = [
        f'<div class="verdict {kind}"><strong>{both(kind)}</strong><p>{both(text)}</p>',
        _list("problems", problems),
        _list("notes", audit.notes),
        "</div>",
    ]
    return "".join(parts)


def _facts(audit: LedgerAudit) -> str:
    checked = sum(seen.checked for seen in audit.receipts)
    signed = sum(charge.signed for charge in audit.charges)
    facts = both(
        "facts",
        budget=audit.budget or "—",
        entries=f"{audit.entries:,}",
        signed=signed,
        count=len(audit.charges),
        checked=checked,
        receipts=len(audit.receipts),
    )
    key = f"<br>{both('device_key')} <code>{escape(audit.device_key)}</code>"
    return f"<p>{facts}{key if audit.device_key else ''}</p>"


def _list(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<h3>{both(title)}</h3><ul lang="en">{items}</ul>'


def _tiles(audit: LedgerAudit) -> str:
    released = len(audit.charges) - audit.forfeited
    tiles = [
        (f"{released:,}", "reports"),
        (number(audit.worst_year), "year_epsilon"),
        (number(audit.lifetime), "life_epsilon"),
        (number(audit.total.collusion.year), "collusion_epsilon"),
        (f"{len(audit.receipts):,}", "receipts"),
        (f"{audit.forfeited:,}", "forfeited"),
    ]
    if audit.quarantines:
        tiles.append((f"{len(audit.quarantines):,}", "quarantines"))
    shown = "".join(
        f'<div class="tile"><b>{value}</b><span>{both(label)}</span></div>'
        for value, label in tiles
    )
    return f'<div class="tiles">{shown}</div>'


def _card(title: str, text: str, legend: Sequence[tuple[int, str]], svg: str) -> str:
    keys = "".join(
        f'<span class="key"><i class="k{colour}"></i>{both(name)}</span>' for colour, name in legend
    )
    return (
        f'<section class="card"><h2>{both(title)}</h2><p>{both(text)}</p>'
        f"<p>{keys}</p>{svg}</section>"
    )


def _odometer(audit: LedgerAudit) -> str:
    local = bool(audit.total.pure.lifetime)
    heads = ["stream", "window", "units", "share", "epsilon", "if_colluding"]
    rows = [
        row
        for spending in (*audit.streams, audit.total)
        for row in _odometer_rows(spending, local=local)
    ]
    text = both("odometer_text", delta=f"{audit.delta:g}")
    table = _table(heads + (["linear_sum"] if local else []), rows, texts=2)
    return f'<section class="card"><h2>{both("odometer")}</h2><p>{text}</p>{table}</section>'


def _odometer_rows(spending: StreamSpending, *, local: bool) -> Iterable[list[str]]:
    for window in _WINDOWS:
        units: int = getattr(spending.units, window)
        cap = spending.lifetime_cap if window == "lifetime" else spending.yearly_cap
        capped = (
            cap
            and window in ("year", "lifetime")
            and (window == "year" or spending.stream == "all")
        )
        row = [
            both(spending.stream) if spending.stream in WORDS else escape(spending.stream),
            both(window),
            f"{units:,}",
            f"{100 * units / cap:.1f} %" if capped else "",
            number(getattr(spending.epsilon, window)),
            number(getattr(spending.collusion, window)),
        ]
        yield row + ([number(getattr(spending.pure, window))] if local else [])


def _accountants(found: CrossCheck | None) -> str:
    if found is None:
        return ""
    values = {
        "gdp": found.gdp,
        "zcdp": found.zcdp,
        "pld": found.pld,
        "rdp": found.rdp,
        "exact_pld": found.exact,
    }
    rows = [[both(name), f"{value:.4f}"] for name, value in values.items()]
    table = _table(["accountants", "epsilon"], rows, texts=1)
    return (
        f'<section class="card"><h2>{both("accountants")}</h2>'
        f"<p>{both('accountants_text')}</p>{table}</section>"
    )


def _quarantines(audit: LedgerAudit) -> str:
    if not audit.quarantines:
        return ""
    rows = [
        [
            str(each.entry),
            _date(each.at),
            both(each.reason) if each.reason in WORDS else escape(each.reason),
            f"{sum(each.units.values()):,}",
        ]
        for each in audit.quarantines[-_MOST_CHARGES:]
    ]
    table = _table(["entry", "when", "reason", "units"], rows, texts=3)
    return (
        f'<section class="card"><h2>{both("quarantine")}</h2>'
        f"<p>{both('quarantine_text')}</p>{table}</section>"
    )


def _charges(charges: Sequence[Charge]) -> str:
    if not charges:
        return ""
    shown = charges[-_MOST_CHARGES:]
    rows = [
        [
            str(charge.entry),
            _date(charge.at),
            escape(charge.task),
            f"{charge.round:,}",
            escape(charge.mechanism),
            both(_state(charge)),
            number(charge.epsilon),
            number(charge.collusion_epsilon),
        ]
        for charge in reversed(shown)
    ]
    heads = ["entry", "when", "task", "round", "mechanism", "state", "epsilon", "if_colluding"]
    table = _table(heads, rows, texts=6)
    more = both("more", shown=len(shown), count=len(charges)) if len(shown) < len(charges) else ""
    return f'<section class="card"><h2>{both("charges")}</h2><p>{more}</p>{table}</section>'


def _state(charge: Charge) -> str:
    if not charge.committed:
        return "lost"
    return "acknowledged" if charge.acknowledged else "released"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int) -> str:
    """A table of ready cells; the first ``texts`` columns are words, the others figures."""

    def line(tag: str, cells: Sequence[str]) -> str:
        shown = (
            f"<{tag}{'' if index < texts else ' class=n'}>{cell}</{tag}>"
            for index, cell in enumerate(cells)
        )
        return f"<tr>{''.join(shown)}</tr>"

    body = "".join(line("td", row) for row in rows)
    head = line("th", [both(head) for head in heads])
    return f'<div class="wide"><table>{head}{body}</table></div>'


def _date(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"
