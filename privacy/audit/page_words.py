"""The words of the HTML report, in English and Chinese side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["WORDS"]

WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "title": ("Privacy ledger of", "隐私账本："),
    "nobody": ("a phone without id", "未登记的手机"),
    "ok": ("In order", "账目无误"),
    "not_private": ("In order by its own rules, but not private", "合乎自身规则，但并不保护隐私"),
    "bad": ("Violations found", "发现违规"),
    "ok_text": (
        "Every entry, charge, signature and cap was recomputed; nothing contradicts the ledger.",
        "每一条记录、每笔花费、签名与上限都已重新核算，没有发现矛盾。",
    ),
    "demo_text": (
        "The ledger keeps to a budget made for demonstrations. That budget protects nobody.",
        "账本遵守了一份仅供演示的预算；这份预算保护不了任何人。",
    ),
    "bad_text": (
        "What this ledger says cannot all be true. Its figures may be too low.",
        "账本中的内容不可能全部属实，其数字可能偏低。",
    ),
    "reports": ("reports released", "份报告已发出"),
    "forfeited": ("paid and never finished", "份已记账但未完成"),
    "year_epsilon": ("ε, the worst 365 days", "ε，最多的 365 天"),
    "life_epsilon": ("ε, everything so far", "ε，迄今全部"),
    "collusion_epsilon": (
        "ε, worst 365 days if both servers collude",
        "ε，两台服务器串通时的 365 天",
    ),
    "quarantines": ("quarantines", "次隔离"),
    "receipts": ("receipts of the cloud", "份云端回执"),
    "facts": (
        "Budget {budget}; {entries} entries; {signed} of {count} charges signed by the device; "
        "{checked} of {receipts} receipts checked under a known key.",
        "预算 {budget}；共 {entries} 条；{count} 笔花费中 {signed} 笔有设备签名；"
        "{receipts} 份回执中 {checked} 份已用已知公钥核对。",
    ),
    "device_key": ("Device key", "设备公钥"),
    "rolled back": ("restored from an older copy", "从较早的副本恢复"),
    "cloned": ("a second copy was sending", "另有副本在发送"),
    "unmarked": ("moved without its mark", "搬移时缺少记号"),
    "chart_cap": ("The year's budget", "年度预算"),
    "chart_cap_text": (
        "Spent within the 365 days before each date, in % of each stream's cap. "
        "The dashed line is the cap.",
        "每个日期之前 365 天内的花费占各流上限的百分比；虚线为上限。",
    ),
    "chart_total": ("ε over time", "ε 的累积"),
    "chart_total_text": (
        "Everything so far: the exact value, and the upper bound that the phone's integers give.",
        "迄今全部：精确值，以及手机整数记账给出的上界。",
    ),
    "chart_reports": ("ε of each report", "每份报告的 ε"),
    "chart_reports_text": (
        "A ring is a charge without a report; a vertical bar is a quarantine.",
        "空心圆为已记账但没有报告；竖线为隔离。",
    ),
    "chart_trust": ("What trust is worth", "信任值多少"),
    "chart_trust_text": (
        "ε while leader and helper are separate, and if they put their halves together.",
        "主服务器与助手分开时的 ε，以及二者拼合时的 ε。",
    ),
    "exact": ("exact (GDP)", "精确值（GDP）"),
    "bound": ("zCDP bound", "zCDP 上界"),
    "linear": ("local reports, linear sum", "本地报告的线性和"),
    "apart": ("servers apart", "服务器分开"),
    "together": ("servers together", "服务器串通"),
    "counts": ("counts", "统计"),
    "models": ("models", "模型"),
    "unknown": ("unknown", "未知"),
    "all": ("all", "全部"),
    "odometer": ("Odometer", "里程表"),
    "odometer_text": (
        "The worst window of each length that the dates allow; rho in units of 2^-40, integers; ε "
        "at δ = {delta}.",
        "日期所允许的各长度最坏窗口；rho 以 2^-40 为整数单位；ε 取 δ = {delta}。",
    ),
    "stream": ("stream", "流"),
    "window": ("window", "窗口"),
    "report": ("one report", "单份报告"),
    "month": ("30 days", "30 天"),
    "year": ("365 days", "365 天"),
    "lifetime": ("lifetime", "终身"),
    "units": ("rho units", "rho 单位"),
    "share": ("of the cap", "占上限"),
    "epsilon": ("ε", "ε"),
    "if_colluding": ("ε if colluding", "串通时 ε"),
    "linear_sum": ("Σε of local", "本地 Σε"),
    "accountants": ("Five accountants", "五种核算"),
    "accountants_text": (
        "Everything in this ledger, computed independently. They must agree within 2 %.",
        "对账本全部内容的独立核算；彼此相差不得超过 2 %。",
    ),
    "gdp": ("own closed form (GDP)", "自有闭式（GDP）"),
    "zcdp": ("own integer bound (zCDP)", "自有整数上界（zCDP）"),
    "pld": ("google/dp-accounting (PLD)", "google/dp-accounting（PLD）"),
    "rdp": ("meta-pytorch/opacus (RDP)", "meta-pytorch/opacus（RDP）"),
    "exact_pld": ("the mechanisms themselves (PLD)", "机制本身（PLD）"),
    "problems": ("What is wrong", "问题所在"),
    "notes": ("Worth knowing", "值得注意"),
    "charges": ("Releases", "发出的报告"),
    "entry": ("entry", "条目"),
    "when": ("when (UTC)", "时间（UTC）"),
    "task": ("task", "任务"),
    "round": ("round", "轮次"),
    "state": ("state", "状态"),
    "released": ("released", "已发出"),
    "acknowledged": ("acknowledged", "已回执"),
    "lost": ("forfeited", "已作废"),
    "mechanism": ("mechanism", "机制"),
    "more": ("The newest {shown} of {count} are shown.", "共 {count} 条，仅列出最新 {shown} 条。"),
    "quarantine": ("Quarantines", "隔离"),
    "quarantine_text": (
        "This phone found that it may have been restored or copied, and charged itself all that "
        "was left of the year.",
        "这部手机发现自己可能被恢复或复制，于是把当年剩余的预算全部记为已用。",
    ),
    "reason": ("reason", "原因"),
    "trust": ("Whom this rests on", "这一切依赖于谁"),
    "trust_text": (
        "Unit: one device; neighbours: its reports replaced by zeros. The ε above holds while "
        "leader and helper do not collude, and either the helper adds its noise or n_min honest "
        "phones took part. Local reports rest on the phone alone. A ledger cut off at its end "
        "looks whole: receipts of the cloud, and the mark kept outside the phone's folder, show "
        "it.",
        "保护单位：一台设备；相邻关系：把它的报告换成零。上述 ε 成立的前提是主服务器与助手不串通，"
        "并且助手加入了噪声，或有 n_min 部诚实的手机参与。本地报告只依赖手机自身。"
        "末尾被截断的账本看起来仍然完整：须靠云端回执与手机文件夹之外的记号来发现。",
    ),
}
"""Key → (English, Chinese)."""
