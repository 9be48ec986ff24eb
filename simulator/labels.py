"""Chinese names of what reports call by an English one: laws, faults, histograms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simulator.words import Both

__all__ = ["fault_name", "histogram_name", "law_name"]

_LAWS: Final[Mapping[str, str]] = {
    "1 charged before release": "1 先记账，后发出",
    "1 a retry sends the same bytes": "1 重试发送相同的字节",
    "1 no canary outside the sealed store": "1 密封存储之外没有金丝雀字串",
    "1 no ledger in quarantine without cause": "1 账本不会无故被隔离",
    "2 dreams and syncs only inside the window": "2 只在窗口内做梦与同步",
    "3 every acknowledged upload counted exactly once": "3 每份已确认的上传恰好计一次",
    "3 every acknowledged upload has its receipt in the ledger": "3 每份已确认的上传在账本都有回执",
    "3 every acknowledged record is kept, none doubled": "3 每条已确认的记录都保留，且不重复",
    "1 no device ever spends more than its budget": "1 任何设备的花费都不超预算",
    "3 every healthy phone catches up once the faults have stopped": "3 故障停止后健康手机都会跟上",
    "7 versions only rise": "7 版本只升不降",
    "7 only signed releases adopted": "7 只采用已签名的版本",
    "3 nothing forged is held or counted": "3 伪造的报告不存也不计",
    "4 nothing is decoded before its hash was verified": "4 未经哈希校验的内容不解码",
    "6 a phone takes nothing from the machine": "6 手机不向本机索取任何东西",
    "8 a phone's traffic and storage stay small": "8 手机的流量与存储都很小",
}
_HISTOGRAMS: Final[Mapping[str, Both]] = {
    "decided_by": Both("Layers chosen by", "选层者"),
    "top_layer": Both("Best layer", "最佳层"),
    "language": Both("Language", "语言"),
    "queries": Both("Questions", "提问数"),
    "records": Both("Turns kept", "记录数"),
    "usefulness": Both("Useful recalls, %", "有用的回忆，%"),
    "router_adoption": Both("Router release", "路由模型版本"),
    "dedup_adoption": Both("Dedup release", "去重模型版本"),
}
_FAULTS: Final[Mapping[str, str]] = {
    "unreachable": "无法连接",
    "captive_portal": "强制门户",
    "turned_away": "网关过载",
    "bandwidth_cap": "带宽受限",
    "silence": "半开连接",
    "cut": "连接中断",
    "cut_mid_frame": "帧内中断",
    "loss": "丢包",
    "delay": "延迟",
    "lost_ack": "确认丢失",
    "duplication": "重复",
    "reordering": "乱序",
    "kill": "进程被杀",
    "torn_write": "写入撕裂",
    "battery_dead": "电量耗尽",
    "disk_full": "磁盘已满",
    "restored_backup": "恢复旧备份",
    "cloned_phone": "手机被克隆",
    "clock_skew": "时钟偏差",
    "clock_jump": "时钟跳变",
    "old_version": "旧版应用",
    "partition": "与云端隔绝",
    "gateway_restart": "网关重启",
    "actor_restart": "执行者重启",
    "database_restart": "数据库重启",
    "helper_away": "辅助服务器离线",
    "cloud_down": "整个云端停机",
    "malicious_phone": "恶意手机",
}


def law_name(law: str) -> Both:
    """A law in both languages; one that has no Chinese name yet keeps its own."""
    return Both(law, _LAWS.get(law, law))


def fault_name(fault: str) -> Both:
    """A fault in both languages."""
    words = fault.replace("_", " ")
    kind, _, more = fault.partition(": ")
    chinese = _FAULTS.get(kind, words)
    return Both(words, f"{chinese}：{more.replace('_', ' ')}" if more else chinese)


def histogram_name(histogram: str) -> Both:
    """A usage histogram in both languages."""
    return _HISTOGRAMS.get(histogram, Both(histogram, histogram))
