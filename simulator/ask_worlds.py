"""What happens if the cloud is down for two days? A world, played from a ready scenario."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simulator.ask import Answer, silent
from simulator.faults.plan import Fault
from simulator.scenario import Scenario, load_scenario
from simulator.words import Both
from simulator.world import Options, run_world

__all__ = ["outage"]

_PERCENT = 100.0
_HOURS = 24
_DOWN_FROM, _DOWN_DAYS = 1, 2


def outage(
    *, phones: int = 24, days: int = 5, seed: int = 0, tell: Callable[[str], None] = silent
) -> Answer:
    """The answer: the ready scenario, with nobody reaching the cloud from the second day on for two
    days, day by day."""
    up_again = _DOWN_FROM + _DOWN_DAYS
    ready = load_scenario("outage")
    down = Fault(rate=1.0, from_day=_DOWN_FROM, to_day=up_again)
    faults = ready.faults.model_copy(update={"unreachable": down})
    scenario = _resized(ready, phones, days, seed).model_copy(update={"faults": faults})
    tell(f"{phones} phones over {days} days, the cloud away from day {_DOWN_FROM + 1}")
    r = run_world(Options.of(scenario, "inproc", 1))
    uploads, stale = r["timeline"]["uploads_per_hour"], r["timeline"]["staleness"]["router"]
    sent = [sum(uploads[day * _HOURS : (day + 1) * _HOURS]) for day in range(days)]
    ends = {round(point["day"], 2): point for point in stale}
    rows: list[Sequence[str | Both]] = []
    for day in range(days):
        point = ends.get(float(day + 1))
        away = _DOWN_FROM <= day < up_again
        rows.append(
            (
                f"{day + 1}",
                Both("down", "停机") if away else Both("up", "正常"),
                f"{sent[day]:,}",
                "–" if point is None else f"{_PERCENT * point['fresh']:.0f} %",
                "–" if point is None else f"{point['max']:.1f}",
            )
        )
    first_back = sent[up_again] if up_again < days else None
    expired = sum(one["expired"] for one in r["rounds_by_task"].values())
    back = _first_upload(uploads, up_again)
    figures = {
        "phones": phones,
        "days": days,
        "down_days": [_DOWN_FROM, up_again],
        "uploads_by_day": sent,
        "hours_until_first_upload": back,
        "uploads_waiting": r["uploads_waiting"],
        "rounds_expired": expired,
        "recalls_answered": r["recall"]["answered"],
        "checked": r["invariants"]["checked"],
        "violated": r["invariants"]["violated"],
        "unreachable": r["network"]["unreachable"],
    }
    return Answer(
        "outage",
        _outage_sentence(figures, first_back),
        Both(
            f"Played: the scenario outage with {phones} phones over {days} days; every connection "
            f"fails from day {_DOWN_FROM + 1} to the end of day {up_again}.",
            f"实际运行：情景 outage，{phones} 部手机 {days} 天；"
            f"第 {_DOWN_FROM + 1} 日至第 {up_again} 日所有连接都失败。",
        ),
        [
            Both("day", "日"),
            Both("cloud", "云端"),
            Both("uploads", "上传"),
            Both("on the newest router", "持最新路由模型"),
            Both("last phone behind, days", "最落后手机，天"),
        ],
        rows,
        figures,
    )


def _first_upload(uploads: Sequence[int], day: int) -> int | None:
    """Hours from that day's beginning until one with an upload is over."""
    return next((hour + 1 for hour, count in enumerate(uploads[day * _HOURS :]) if count), None)


def _outage_sentence(told: dict[str, Any], first_back: int | None) -> Both:
    broken = told["violated"]
    kept = Both("nothing was lost", "没有丢失任何东西")
    if broken:
        kept = Both(f"{broken} checks failed", f"{broken} 次检查失败")
    hours = told["hours_until_first_upload"]
    soon = Both("no upload came after it", "此后没有上传")
    if hours is not None and first_back is not None:
        soon = Both(
            f"uploads were back within {hours} h, {first_back} on the first day",
            f"{hours} 小时内恢复上传，首日 {first_back} 份",
        )
    return Both(
        f"With the cloud down for {_DOWN_DAYS} days {kept.en} in {told['checked']:,} checks, "
        f"phones answered {told['recalls_answered']:,} questions over the {told['days']} days, "
        f"{told['rounds_expired']} rounds expired for want of reports, and {soon.en}; "
        f"{told['uploads_waiting']} reports were still waiting at the end.",
        f"云端停机 {_DOWN_DAYS} 天：{told['checked']:,} 次检查中{kept.zh}，"
        f"手机在全部 {told['days']} 天里回答提问"
        f"（共 {told['recalls_answered']:,} 次），{told['rounds_expired']} 轮因报告不足而过期，"
        f"{soon.zh}；结束时仍有 {told['uploads_waiting']} 份报告待发。",
    )


def _resized(scenario: Scenario, phones: int, days: int, seed: int) -> Scenario:
    return scenario.model_copy(update={"phones": phones, "days": days, "seed": seed})
