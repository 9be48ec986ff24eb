"""What happens if the cloud is down for two days? What does a population half of which is never on
Wi-Fi do to the fairness of the model? Both are worlds, played from a ready scenario."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simulator.ask import Answer, silent
from simulator.ask_learning import Course, Lived, hits, live
from simulator.faults.plan import Fault
from simulator.habits import HabitName
from simulator.scenario import Scenario, load_scenario
from simulator.words import Both
from simulator.world import Options, run_world

__all__ = ["never_wifi", "outage"]

_PERCENT = 100.0
_HOURS = 24
_DOWN_FROM, _DOWN_DAYS = 1, 2
_EPSILON = 8.0
_ROUNDS = 13


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


def never_wifi(
    *,
    phones: int = 44,
    days: int = 3,
    fleet: int = 10_000,
    seed: int = 0,
    tell: Callable[[str], None] = silent,
) -> Answer:
    """The answer: what each half got in a played world, and what the model that only one half can
    teach is worth to the other.

    Args:
        fleet: phones that the learning half stands for, at ε = 8 a year.
    """
    scenario = _resized(load_scenario("half-offline"), phones, days, seed)
    tell(f"{phones} phones over {days} days, half of them never on Wi-Fi")
    r = run_world(Options.of(scenario, "inproc", 1))
    tell("the same people once more, for the examples they earn")
    owned = live(scenario, phones=phones, days=days, seed=seed, tell=lambda _number: None)
    offline = [one for one in owned if one.habit == HabitName.NEVER_ON_WIFI]
    online = [one for one in owned if one.habit != HabitName.NEVER_ON_WIFI]
    course = Course(seed)
    tell(f"{_ROUNDS} rounds taught by one half, and by all")
    half = course.run(online, fleet // 2, _EPSILON, _ROUNDS)
    whole = course.run(owned, fleet, _EPSILON, _ROUNDS)
    models = {"first": course.first, "half": half.parameters, "all": whole.parameters}
    worth = {
        name: {"offline": hits(model, offline), "online": hits(model, online)}
        for name, model in models.items()
    }
    names = {
        "first": Both("first release, on the questions of", "首个版本，在其提问上"),
        "half": Both("taught by the Wi-Fi half", "由 Wi-Fi 半数教出"),
        "all": Both("taught by all", "由所有人教出"),
    }
    rows: list[Sequence[str | Both]] = [*_group_rows(r["groups"])]
    rows += [
        (name, _share(worth[key]["offline"]), _share(worth[key]["online"]))
        for key, name in names.items()
    ]
    return Answer(
        "never-wifi",
        _fair_sentence(r["groups"], worth),
        Both(
            f"Played: the scenario half-offline with {phones} phones over {days} days under the "
            f"demo budget. The lower rows: {_ROUNDS} rounds at ε = 8 a year over the examples the "
            f"same people earned ({_count(offline)} of one half, {_count(online)} of the other), "
            f"standing for {fleet:,} phones; accuracy is on those examples.",
            f"实际运行：情景 half-offline，{phones} 部手机 {days} 天，demo 预算。"
            "下方各行：同一批人所得样本"
            f"（两半各 {_count(offline)} 与 {_count(online)} 个）上每年 ε = 8 的 {_ROUNDS} 轮，"
            f"代表 {fleet:,} 部手机；准确率即在这些样本上。",
        ),
        [Both("", ""), Both("never on Wi-Fi", "从不连 Wi-Fi"), Both("the others", "其他人")],
        rows,
        {"groups": r["groups"], "router_accuracy": worth, "violated": r["invariants"]["violated"]},
    )


def _resized(scenario: Scenario, phones: int, days: int, seed: int) -> Scenario:
    return scenario.model_copy(update={"phones": phones, "days": days, "seed": seed})


def _group_rows(groups: dict[str, Any]) -> list[Sequence[str | Both]]:
    offline, online = _halves(groups)

    def row(said: Both, value: Callable[[dict[str, Any]], str]) -> Sequence[str | Both]:
        return (said, value(offline), value(online))

    return [
        row(Both("phones", "手机"), lambda one: f"{one['phones']}"),
        row(
            Both("reports the cloud counted", "云端计入的报告"),
            lambda one: f"{one['uploads_acked']}",
        ),
        row(
            Both("on the newest router", "持最新路由模型"),
            lambda one: _share(one["on_newest"].get("router", 0.0)),
        ),
        row(
            Both("recalls that helped", "有用的回忆"),
            lambda one: _share(one["useful"] / one["answered"]) if one["answered"] else "–",
        ),
    ]


def _halves(groups: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    offline = groups[HabitName.NEVER_ON_WIFI]
    (online,) = (one for habit, one in groups.items() if habit != HabitName.NEVER_ON_WIFI)
    return offline, online


def _fair_sentence(groups: dict[str, Any], worth: dict[str, dict[str, float]]) -> Both:
    offline, online = _halves(groups)
    newest = [_share(one["on_newest"].get("router", 0.0)) for one in (offline, online)]
    useful = [_share(one["useful"] / max(one["answered"], 1)) for one in (offline, online)]
    lost = _PERCENT * (worth["half"]["offline"] - worth["all"]["offline"])
    return Both(
        f"The half never on Wi-Fi teaches nothing and gets nothing: {newest[0]} of it are on the "
        f"newest router against {newest[1]}, its recalls help in {useful[0]} against {useful[1]}; "
        f"the model taught by the others alone is {lost:+.1f} points on its questions against one "
        "taught by all.",
        f"从不连 Wi-Fi 的一半既不教也不得：持最新路由模型者 {newest[0]}，另一半 {newest[1]}；"
        f"回忆有用率 {useful[0]} 对 {useful[1]}；"
        f"仅由另一半教出的模型在其提问上比由所有人教出的相差 "
        f"{lost:+.1f} 个百分点。",
    )


def _count(phones: Sequence[Lived]) -> int:
    return sum(len(one.x) for one in phones)


def _share(value: float) -> str:
    return f"{_PERCENT * value:.0f} %"
