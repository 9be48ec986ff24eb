"""`report.html`: one self-contained page, light and dark, English and Chinese, from the report.

Every label is there in both languages; two radio buttons and a style sheet choose. No script.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from privacy.budget import BUDGETS
from simulator.cards import sections
from simulator.fidelity import in_both
from simulator.labels import fault_name, histogram_name, law_name
from simulator.words import Both, bytes_said, count, days_said

__all__ = ["environment", "render", "style"]

_PERCENT = 100.0
_MOST_VERSIONS = 12
_NEVER = Both("–", "–")


def render(report: dict[str, Any]) -> str:
    """The page for a report as `simulator.report.build` makes it."""
    versions = _versions(report)
    laws = report["invariants"]
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            r={"scenario": None, **report},
            fidelity=in_both(report.get("fidelity")),
            css=style(),
            tiles=_tiles(report),
            sections=sections(report),
            versions=versions[-_MOST_VERSIONS:],
            hidden=_hidden(len(versions)),
            groups=_groups(report),
            truths=_truths(report["estimates"]),
            coverage=_coverage(report["estimates"]),
            effects=_effects(report),
            phones=Both(count(report["phones"], "phone"), f"{report['phones']:,} 部手机"),
            days=Both(
                count(report["virtual_days"], "virtual day"), f"{report['virtual_days']:,} 个虚拟日"
            ),
            spent=_spent(report),
            allowed=_allowed(report),
            violations=Both(count(laws["violated"], "violation"), f"{laws['violated']:,} 次违反"),
            checks=Both(f"in {laws['checked']:,} checks", f"，共检查 {laws['checked']:,} 次"),
        )
    )


def environment() -> Environment:
    """Templates of this package, with the filters that say a thing in both languages."""
    from jinja2 import FunctionLoader

    made = Environment(autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(_resource))
    made.filters |= {"both": _both, "law": law_name, "fault": fault_name}
    return made


def style() -> str:
    """The style sheet of all pages."""
    return _resource("page.css")


def _resource(name: str) -> str:
    return resources.files("simulator").joinpath(name).read_text("utf-8")


def _both(said: Both | str) -> Markup:
    if isinstance(said, str):
        return Markup("{}").format(said)
    if said.en == said.zh:
        return Markup("{}").format(said.en)
    return Markup('<span lang="en">{}</span><span lang="zh">{}</span>').format(said.en, said.zh)


def _tiles(r: dict[str, Any]) -> list[tuple[str, Both]]:
    recall, sent, laws = r["recall"], r["bytes_per_device_day"], r["invariants"]
    useful = _PERCENT * recall["useful"] / recall["answered"] if recall["answered"] else 0.0
    router, dedup = r["releases"]["router"], r["releases"]["dedup"]
    up, down = bytes_said(sent["up"]), bytes_said(sent["down"])
    return [
        (f"{r['records']:,}", Both("records kept", "条记录")),
        (
            f"{recall['answered']:,}",
            Both(
                f"recalls answered, {useful:.0f} % held what was asked for",
                f"次回忆，{useful:.0f} % 含有所问的内容",
            ),
        ),
        (f"{r['uploads_acked']:,}", Both("uploads acknowledged", "份上传已确认")),
        (f"{r['rounds']:,}", Both("aggregation rounds closed", "轮聚合已完成")),
        (
            f"{router['published']} + {dedup['published']}",
            Both("router and dedup versions published", "个路由与去重模型版本已发布"),
        ),
        (
            f"{router['adopted']:,} + {dedup['adopted']:,}",
            Both("adoptions by phones", "次被手机采用"),
        ),
        (
            bytes_said(sent["up"] + sent["down"]),
            Both(f"per phone and day: {up} up, {down} down", f"每机每日：上行 {up}，下行 {down}"),
        ),
        (
            f"{laws['checked']:,}",
            Both(
                f"checks, {count(laws['violated'], 'violation')}",
                f"次检查，{laws['violated']:,} 次违反",
            ),
        ),
    ]


def _spent(r: dict[str, Any]) -> Both:
    middle, name = f"{r['epsilon']['median']:.3g}", r["budget"]["name"]
    en = f"spent by the worst phone ({middle} by the median one) under the {name} budget"
    zh = f"为花费最多的手机（中位数 {middle}），预算 {name}"
    if r["budget"]["private"]:
        return Both(f"{en}.", f"{zh}。")
    return Both(f"{en}, which protects nobody.", f"{zh}，它不保护任何人。")


def _allowed(r: dict[str, Any]) -> Both:
    """What the production budget would allow this fleet; the report has it in English."""
    production = BUDGETS["production"]
    told = production.allowance(r["phones"])
    counts, update = f"{_PERCENT * told.counts_error:.2g} %", f"{told.update_error:.2g}"
    published = (
        f"发布使用统计，每项误差约为全体的 {counts}"
        if told.counts_useful
        else f"不发布使用统计（手机太少：每项误差将约为全体的 {counts}）"
    )
    stepped = (
        f"接受联邦模型更新（噪声为最大更新的 {update}）"
        if told.updates_useful
        else f"不接受联邦模型更新（噪声将是最大更新的 {update} 倍）"
    )
    zh = (
        f"{r['phones']:,} 部手机时，production 预算（每年 ε {production.yearly_epsilon:.3g}）"
        f"{published}；{stepped}。"
    )
    return Both(r["budget"]["says"], zh)


def _versions(r: dict[str, Any]) -> list[dict[str, Any]]:
    def said(days: float | None) -> Both:
        return _NEVER if days is None else days_said(days)

    return [
        {
            "name": f"{model} {one['version']}",
            "accuracy": "–" if one["accuracy"] is None else f"{_PERCENT * one['accuracy']:.1f} %",
            "phones": f"{one['phones']:,}",
            "half": said(one["days_to_half"]),
            "most": said(one["days_to_95"]),
        }
        for model, told in r["releases"].items()
        for one in told["versions"]
    ]


def _groups(r: dict[str, Any]) -> list[tuple[str, ...]]:
    """A row a habit, where there is more than one."""
    if len(r["groups"]) < 2:
        return []
    return [
        (
            habit,
            f"{one['phones']:,}",
            f"{one['window_hours'] / one['phones'] / r['virtual_days']:.1f}",
            f"{one['uploads_acked']:,}",
            _share(one["useful"], one["answered"]),
            *(_share(one["on_newest"].get(model, 0.0), 1) for model in ("router", "dedup")),
        )
        for habit, one in r["groups"].items()
    ]


def _share(part: float, whole: int) -> str:
    return f"{_PERCENT * part / whole:.0f} %" if whole else "–"


def _hidden(versions: int) -> Both | None:
    more = versions - _MOST_VERSIONS
    if more <= 0:
        return None
    return Both(f"{more} earlier rows are in report.json.", f"更早的 {more} 行见 report.json。")


def _truths(told: dict[str, Any]) -> list[dict[str, Any]]:
    """The newest round of each histogram, its places in percent of the track."""
    newest: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for one in told["rounds"]:
        for name, bins in one["histograms"].items():
            newest[name] = (one, bins)
    return [
        {
            "title": histogram_name(name),
            "round": f"{one['task']} {one['round']}",
            "bins": [_track(each) for each in bins],
        }
        for name, (one, bins) in newest.items()
    ]


def _track(each: dict[str, Any]) -> dict[str, Any]:
    low, high = _PERCENT * each["low"], _PERCENT * each["high"]
    return {
        "name": each["bin"],
        "covered": each["covered"],
        "low": f"{low:.2f}",
        "width": f"{high - low:.2f}",
        "truth": f"{_PERCENT * each['truth']:.2f}",
        "place": f"{min(max(_PERCENT * each['estimate'], 0.0), _PERCENT):.2f}",
        "said": f"{_PERCENT * each['estimate']:.1f} · {_PERCENT * each['truth']:.1f} %",
    }


def _coverage(told: dict[str, Any]) -> Both:
    if not told["bins"]:
        return Both("", "")
    share = f"{_PERCENT * told['covered'] / told['bins']:.0f} %"
    worst = f"{_PERCENT * (told['worst'] or 0.0):.1f} %"
    return Both(
        f"Over all rounds {share} of the {told['bins']:,} intervals hold the truth; "
        f"the largest error is {worst} of the fleet.",
        f"全部轮次的 {told['bins']:,} 个区间中有 {share} 含有真相；最大误差为全体的 {worst}。",
    )


def _effects(r: dict[str, Any]) -> list[tuple[Both, str]]:
    """What the faults came to, in the report's own figures."""
    net, tasks = r["network"], r["rounds_by_task"].values()
    stale = [points[-1]["max"] for points in r["timeline"]["staleness"].values() if points]
    rows = [
        (Both("connections that came about", "建立的连接"), f"{net['sessions']:,}"),
        (Both("…and broke", "……其中中断的"), f"{net['cuts']:,}"),
        (Both("connections that did not", "未能建立的连接"), f"{net['unreachable']:,}"),
        (
            Both("reports still waiting at the end", "结束时仍待发的报告"),
            f"{r['uploads_waiting']:,}",
        ),
        (
            Both("rounds with too few phones", "人数不足的轮次"),
            f"{sum(one['expired'] for one in tasks):,}",
        ),
        (Both("rounds refused", "被拒的轮次"), f"{sum(one['refused'] for one in tasks):,}"),
        (Both("violations of the laws", "违反法则"), f"{r['invariants']['violated']:,}"),
    ]
    if stale:
        rows.append(
            (Both("days the last phone is behind", "最落后的手机落后天数"), f"{max(stale):.1f}")
        )
    return rows
