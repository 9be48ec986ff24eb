"""The plain words of `reverie-audit explain`, in English and Chinese: one table each, same keys.

Written for somebody who has never heard of epsilon. Every number is filled in by `explain.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

__all__ = ["LANGUAGES", "PHRASES", "Language"]

Language = Literal["zh", "en"]
LANGUAGES: Final[tuple[Language, ...]] = ("zh", "en")

_EN = {
    # verdicts
    "sound": "The books of this phone are in order.",
    "empty": "Nothing has left this phone so far.",
    "violation": "WARNING: the books of this phone are NOT in order ({count} problems, below). "
    "The figures on this page may be too low.",
    "not_private": "This phone runs the {budget} budget. It is for demonstrations and does NOT "
    "protect anybody.",
    # titles
    "title_left": "What left this phone",
    "title_when": "When",
    "title_means": "What that means",
    "title_numbers": "How much was given away, in numbers",
    "title_trust": "Whom you must trust",
    "title_collusion": "If the two servers work together against you",
    "title_year": "What is left this year",
    "title_quarantine": "Quarantine",
    "title_limits": "What this page cannot know",
    "title_problems": "What is wrong",
    # what left
    "task_usage": "{count} × usage counts: one answer to each of eight fixed questions, such "
    "as how "
    "many searches were made or which language was used. No word of yours is in them.",
    "task_router": "{count} × what this phone learnt about where to look for memories: a "
    "short list "
    "of numbers, cut to a fixed size and blurred.",
    "task_dedup": "{count} × what this phone learnt about which memories say the same: a "
    "short list "
    "of numbers, cut to a fixed size and blurred.",
    "task_local_usage": "{count} × one answer to one fixed question, made partly random on this "
    "phone before it was sent.",
    "task_other": "{count} × reports for the task {task}.",
    "never": "Never sent: what you recorded, asked, said or were answered.",
    "noise": "Each report was blurred with random noise here, before it left.",
    "forfeited": "{count} more were paid for and never finished: they count as spent all the same.",
    "between": "From {first} to {last} (UTC).",
    "newest": "The newest: {dates}.",
    "never_when": "Never, so far.",
    # meaning
    "means_report": "One report: whoever sees it in the published sum and guesses something about "
    "you, at even odds before, is right in at most {belief} % of cases afterwards.",
    "means_year": "All reports of the busiest 365 days together: at most {belief} %.",
    "means_weak": "A bound this close to 100 % hardly limits what a very determined observer "
    "could learn; it is a worst case over everything at once.",
    "means_delta": "This holds except with a chance of 1 in {chance}. It protects one device, "
    "not one person with several.",
    "means_nothing": "Nobody can have learnt anything from this phone's reports.",
    # numbers
    "number_head": "ε (epsilon) measures it: 0 is nothing, below 1 strong protection, "
    "above 10 close to none.",
    "number_report": "one report: ε = {value}",
    "number_month": "the worst 30 days: ε = {value}",
    "number_year": "the worst 365 days: ε = {value} (this phone stops itself at {cap})",
    "number_lifetime": "everything so far: ε = {value} (it stops for good at {cap})",
    "number_local": "Of that, local reports, added up one by one: {report} a report, {month} in "
    "30 days, {year} in a year, {lifetime} in all.",
    # trust
    "trust_two": "Two servers: the cloud and a helper each hold one half of every report. You must "
    "trust that they do not put the halves together, and that the helper adds its noise or at "
    "least {n_min} honest phones took part. They see sums over at least {n_min} phones.",
    "trust_local": "Reports made random on the phone: you must trust nobody but the program on "
    "this phone and its source of chance.",
    "trust_none": "Nothing was sent, so nobody yet.",
    "trust_same": "If one company runs both servers, there are not really two: then read the "
    "next paragraph as the truth.",
    # collusion
    "collusion": "Then only the noise this phone added itself is left: ε = {report} a report and "
    "{year} in the worst 365 days.",
    "collusion_weak": "That protects a single report a little, and a year of reports hardly "
    "at all.",
    "collusion_local": "Nothing changes: local reports need no helper.",
    "collusion_none": "Nothing was sent that they could open.",
    # what is left
    "left": "{stream}: {share} % of this year's budget is left, about {reports} more reports.",
    "left_none": "{stream}: used up; nothing more leaves before {date}.",
    "left_for_good": "{stream}: used up for good.",
    "left_unknown": "The ledger names no budget this program knows.",
    "stream_counts": "Usage counts",
    "stream_models": "What was learnt",
    # quarantine
    "quarantine_no": "No. Nothing suggests that this phone was restored from a backup or copied.",
    "quarantine_yes": "On {date} this phone gave up what was left of that year's budget, because "
    "{reason}.",
    "quarantine_why": "Reports that its books no longer show may have left it. So as not to spend "
    "twice, it counts everything as spent and sends nothing until {date}.",
    "reason_rolled_back": "it was restored from an older copy of itself",
    "reason_cloned": "a second copy of it has been sending as well",
    "reason_unmarked": "it was moved here without the mark that shows how far its books had come",
    # limits
    "limit_receipts": "A ledger whose end was cut off looks whole. {count} receipts of the cloud "
    "are in it; {checked} of them were checked under a known key.",
    "limit_signed": "{signed} of {count} reports are signed by this phone's own key.",
    "limit_code": "Whether the program does what its ledger says is tested by "
    "`reverie-audit mechanism all`.",
    "problem": "Entry {entry}: {what}",
    "problems_more": "... and {count} more; `reverie-audit ledger` lists all of them.",
}

_ZH = {
    "sound": "这部手机的隐私账本没有问题。",
    "empty": "到目前为止，没有任何内容离开过这部手机。",
    "violation": "警告：这部手机的账本有 {count} 处问题（见下文）。本页的数字可能偏低。",
    "not_private": "这部手机使用 {budget} 预算，仅供演示，保护不了任何人。",
    "title_left": "离开这部手机的内容",
    "title_when": "什么时候",
    "title_means": "这意味着什么",
    "title_numbers": "用数字说，透露了多少",
    "title_trust": "您需要信任谁",
    "title_collusion": "如果两台服务器串通起来",
    "title_year": "今年还剩多少",
    "title_quarantine": "隔离",
    "title_limits": "本页无法知道的事",
    "title_problems": "问题所在",
    "task_usage": "使用统计 {count} 份：八个固定问题各选一个答案，例如搜索了多少次、"
    "用的是哪种语言。"
    "其中没有您写过的任何一个字。",
    "task_router": "“去哪里找记忆”的学习结果 {count} 份：一小串数字，先裁剪到固定大小，"
    "再加噪模糊。",
    "task_dedup": "“哪些记忆说的是同一件事”的学习结果 {count} 份：一小串数字，"
    "先裁剪到固定大小，再加噪模糊。",
    "task_local_usage": "单个固定问题的答案 {count} 份：发送之前，已在手机上加入随机成分。",
    "task_other": "任务 {task} 的报告 {count} 份。",
    "never": "从未发送：您记录的、询问的、说过的话，以及得到的回答。",
    "noise": "每份报告离开之前，都已在这部手机上加入随机噪声。",
    "forfeited": "另有 {count} 份已经记账但没有完成，同样算作已花费。",
    "between": "从 {first} 到 {last}（UTC）。",
    "newest": "最近几次：{dates}。",
    "never_when": "还没有过。",
    "means_report": "单份报告：假设有人原本对您的某件事只有五成把握，看到公布的总和之后，"
    "猜对的可能性最多为 {belief} %。",
    "means_year": "最多的 365 天内全部报告合在一起：最多为 {belief} %。",
    "means_weak": "上限如此接近 100 %，对下定决心的观察者几乎没有约束；"
    "这是把一切合在一起的最坏情况。",
    "means_delta": "以上结论有 {chance} 分之一的可能不成立。保护的单位是一台设备，"
    "而不是拥有多台设备的一个人。",
    "means_nothing": "没有人能从这部手机的报告中得知任何事。",
    "number_head": "用 ε（epsilon）衡量：0 表示毫无透露，小于 1 表示保护很强，大于 10 "
    "表示几乎没有保护。",
    "number_report": "单份报告：ε = {value}",
    "number_month": "最多的 30 天：ε = {value}",
    "number_year": "最多的 365 天：ε = {value}（到 {cap} 时手机自动停止）",
    "number_lifetime": "迄今全部：ε = {value}（到 {cap} 时永久停止）",
    "number_local": "其中本地随机化的报告逐份相加：每份 {report}，30 天 {month}，一年 {year}，"
    "总共 {lifetime}。",
    "trust_two": "两台服务器：云端和助手各持有每份报告的一半。您需要相信它们不会把两半拼在一起，"
    "并且助手会加入噪声，或者至少有 {n_min} 部诚实的手机参与。它们只能看到至少 {n_min} "
    "部手机的总和。",
    "trust_local": "在手机上随机化的报告：除了这部手机上的程序和它的随机源，您不需要信任任何人。",
    "trust_none": "什么都没有发送，所以暂时谁都不需要信任。",
    "trust_same": "如果两台服务器由同一家公司运营，就等于只有一台：请把下一段当作事实来读。",
    "collusion": "那时只剩下这部手机自己加入的噪声：每份报告 ε = {report}，最多的 365 天 ε = "
    "{year}。",
    "collusion_weak": "单份报告还有一点保护，一整年的报告几乎没有。",
    "collusion_local": "没有变化：本地随机化的报告不需要助手。",
    "collusion_none": "没有发送过任何可供它们打开的内容。",
    "left": "{stream}：今年的预算还剩 {share} %，大约还能发送 {reports} 份报告。",
    "left_none": "{stream}：已用完，{date} 之前不会再发送。",
    "left_for_good": "{stream}：已永久用完。",
    "left_unknown": "账本中的预算名称不在本程序所知之列。",
    "stream_counts": "使用统计",
    "stream_models": "学习结果",
    "quarantine_no": "没有。没有迹象表明这部手机曾从备份恢复或被复制。",
    "quarantine_yes": "{date}，这部手机放弃了当年剩余的全部预算，原因是：{reason}。",
    "quarantine_why": "可能有账本上已看不到的报告离开过手机。为避免重复花费，"
    "手机把全部预算算作已用，{date} 之前不再发送。",
    "reason_rolled_back": "它是从自己较早的副本恢复而来的",
    "reason_cloned": "它的另一份副本也在发送报告",
    "reason_unmarked": "它被搬到了这里，却缺少标明账本进度的记号",
    "limit_receipts": "末尾被截掉的账本看起来仍然完整。其中有云端的回执 {count} 份，"
    "用已知公钥核对过的有 {checked} 份。",
    "limit_signed": "{count} 份报告中有 {signed} 份带有这部手机自己的签名。",
    "limit_code": "程序是否真的照账本行事，由 `reverie-audit mechanism all` 检验。",
    "problem": "第 {entry} 条：{what}",
    "problems_more": "……还有 {count} 处；完整列表见 `reverie-audit ledger`。",
}

PHRASES: Final[Mapping[Language, Mapping[str, str]]] = {"en": _EN, "zh": _ZH}
"""Language → key → template."""
