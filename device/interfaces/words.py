"""What the commands say to people, in Chinese or English by the locale."""

from __future__ import annotations

import os
from collections.abc import Mapping

__all__ = ["language", "say"]

LOCALE_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The first that is set decides, as in POSIX."""

_WORDS: dict[str, tuple[str, str]] = {
    "nothing yet": (
        "Nothing yet: the structured memory fills while the phone dreams.",
        "还没有：手机做梦时才会整理成记忆。",
    ),
    "nothing archived": ("The archive is empty.", "归档是空的。"),
    "page": (
        "{first}–{last} of {total}; go on with --page {next}",
        "第 {first}–{last} 条，共 {total} 条；用 --page {next} 看下一页",
    ),
    "page end": ("{first}–{last} of {total}", "第 {first}–{last} 条，共 {total} 条"),
    "archived": ("archived", "已归档"),
    "in use": ("in the working set", "在用"),
    "said": ("from what {speaker} said {ago}", "来自 {speaker} {ago}说的话"),
    "you": ("you", "你"),
    "turn gone": ("{id} is gone", "{id} 已不在"),
    "turn elsewhere": ("{id}, said on another of your devices", "{id}，在你的另一台设备上说的"),
    "history": ("before", "以前"),
    "changes": ("changes", "变化"),
    "sources": ("from", "来源"),
    "drawn": ("drawn from it", "由此整理出"),
    "used": ("used {count} times, last {ago}", "用过 {count} 次，上次是{ago}"),
    "never used": ("not used yet", "还没用过"),
    "routed": (
        "routed by {by} ({weights}), {rounds} rounds",
        "路由依据：{by}（{weights}），检索 {rounds} 轮",
    ),
    "floors": (
        "layers not searched under {floors} ({source})",
        "低于以下权重的层不检索：{floors}（{source}）",
    ),
    "floors default": ("the default", "默认值"),
    "floors release": ("came with the router in use", "随在用的路由模型下发"),
    "floors settings": ("chosen in this phone's settings", "本机设置所选"),
    "by id": ("looked up by its id", "按编号直接查到"),
    "missing": ("still missing: {what}", "仍缺：{what}"),
    "no answer": ("Nothing I remember answers that.", "我记得的内容里没有答案。"),
    "would forget": (
        "This would erase for good: {turns} turns, {items} memories drawn from them, "
        "{values} values.",
        "将永久抹去：{turns} 句原话、{items} 条由此整理的记忆、{values} 个常用值。",
    ),
    "and more": ("… and {count} more", "……还有 {count} 条"),
    "all of it": (
        "This would erase for good EVERYTHING this phone was ever told, its archive, its learning "
        "examples, its use counts and reports not sent yet; and with the next sync what the other "
        "devices of its account hold. The privacy ledger stays: it holds no "
        "content.",
        "将永久抹去这台手机记住的一切：全部原话、记忆、归档、学习样例、使用计数和尚未发出的报告；下次同步时，账户中其他设备上的也一并抹去。"
        "隐私账本保留：其中没有内容。",
    ),
    "parted": (
        "{kept} and {parted} are two memories again.",
        "{kept} 与 {parted} 又是两条记忆了。",
    ),
    "sure": ("Erase it?", "确定抹去？"),
    "kept": ("Nothing was erased.", "什么也没有抹去。"),
    "nothing matches": ("Nothing holds these words.", "没有内容含有这些词。"),
    "forgotten": (
        "Erased for good: {turns} turns, {items} memories, {values} values, {examples} learning "
        "examples.",
        "已永久抹去：{turns} 句原话、{items} 条记忆、{values} 个常用值、{examples} 个学习样例。",
    ),
    "brought back": ("{count} memories are back in the working set", "{count} 条记忆已回到在用"),
    "plain warning": (
        "warning: {path} holds your memory IN CLEAR; whoever reads the file reads it all. "
        "Keep it safe and delete it when it has served.",
        "警告：{path} 是明文，谁拿到它谁就能读到你的全部记忆。请妥善保管，用完删除。",
    ),
    "exported": (
        "{turns} turns, {items} memories and {values} values written to {path}",
        "已写入 {path}：{turns} 句原话、{items} 条记忆、{values} 个常用值",
    ),
    "restored": (
        "{turns} turns and {items} memories brought back; {known} turns were known already",
        "已恢复 {turns} 句原话、{items} 条记忆；{known} 句本来就有",
    ),
    "preferred": ("Noted as yours: {text}", "记下了：{text}"),
    "quarantined": (
        "In quarantine since {day}: {why}. The rest of that year's budget counts as spent; no "
        "report leaves until it renews.",
        "{day} 起隔离：{why}。该年度剩余预算一律按已用计算，恢复之前不再上报。",
    ),
    "suspected": (
        "Not the ledger this phone last wrote: {why}. The next report would count the rest of this "
        "year's budget as spent.",
        "账本与本机最后写下的不符：{why}。下一次上报会把本年度剩余预算全部计为已用。",
    ),
    "rolled back": (
        "it is older than this phone last wrote it, or than the cloud has seen it",
        "它比本机最后写下的或云端见过的更旧",
    ),
    "cloned": ("a copy of it has been used elsewhere", "它的一份副本在别处用过"),
    "unmarked": (
        "its mark outside this folder is missing, so the folder was copied or moved",
        "文件夹外的标记不见了，说明文件夹被复制或移动过",
    ),
    "published": (
        "PUBLIC, not your memory: {name} version {version} ({record})",
        "公开资料，不是你的记忆：{name} 第 {version} 版（{record}）",
    ),
    "no knowledge": (
        "No public documents here: they come with a sync when the cloud publishes some.",
        "这里没有公开资料；云端发布后，同步时会取来。",
    ),
    "knowledge gone": ("dropped", "已丢弃"),
    "knowledge dropped": (
        "{name} is erased and will not be taken again; `knowledge take {name}` undoes that.",
        "{name} 已抹去，不会再取；`knowledge take {name}` 可恢复。",
    ),
    "knowledge wanted": (
        "{name} will be taken again with the next sync.",
        "下次同步会重新取来 {name}。",
    ),
    "account": (
        "account {account}, key number {epoch}; its devices:",
        "账户 {account}，第 {epoch} 把密钥；其中的设备：",
    ),
    "this device": ("(this one)", "（本机）"),
    "account items": (
        "{items} memories shared, {unsent} still to be sent",
        "共享 {items} 条记忆，{unsent} 条待发送",
    ),
    "account made": (
        "Account {account} holds this device alone; add another with `account code`.",
        "账户 {account} 目前只有本机；用 `account code` 添加其他设备。",
    ),
    "type this code": (
        "Type this on the new device within ten minutes:  {code}\n"
        "(reverie-device account join {code})",
        "请在十分钟内于新设备上输入：{code}\n（reverie-device account join {code}）",
    ),
    "waiting for the other device": (
        "waiting for the device that shows the code…",
        "正在等待显示该码的设备……",
    ),
    "device came": (
        "{name} is in the account. Both devices must show {fingerprint}; "
        "if they differ: `account remove {name}`.",
        "{name} 已加入账户。两台设备应显示同样的 {fingerprint}；"
        "若不同，请 `account remove {name}`。",
    ),
    "account joined": (
        "This device is in the account of {name}. Both must show {fingerprint}; "
        "if they differ: `account leave`.",
        "本机已加入 {name} 的账户。两台设备应显示同样的 {fingerprint}；"
        "若不同，请 `account leave`。",
    ),
    "device removed": (
        "{device} gets nothing more from the next sync on; what it holds already it keeps.",
        "自下次同步起 {device} 不再收到任何内容；它已有的仍在其上。",
    ),
    "account left": (
        "This device is in no account any more; its memory stays.",
        "本机已退出账户；记忆仍保留在本机。",
    ),
    "to ask": ("I would still like to know: {question}", "我还想知道：{question}"),
    "just now": ("just now", "刚才"),
    "ahead": ("ahead of now", "未来"),
    "day": ("{count} days ago", "{count} 天前"),
    "one day": ("1 day ago", "1 天前"),
    "hour": ("{count} hours ago", "{count} 小时前"),
    "one hour": ("1 hour ago", "1 小时前"),
    "minute": ("{count} minutes ago", "{count} 分钟前"),
    "one minute": ("1 minute ago", "1 分钟前"),
}


def language(environment: Mapping[str, str] | None = None) -> str:
    """``zh`` when the locale is Chinese, else ``en``."""
    known = os.environ if environment is None else environment
    chosen = next((known[name] for name in LOCALE_VARIABLES if known.get(name)), "")
    return "zh" if chosen.lower().startswith("zh") else "en"


def say(message: str, /, **values: object) -> str:
    """A message of the table in the user's language, with its values put in."""
    english, chinese = _WORDS[message]
    return (chinese if language() == "zh" else english).format(**values)
