"""What a goal is about: one or several intents, Chinese and English, none hiding another (003)."""

from __future__ import annotations

import re

__all__ = ["GENERAL", "intents_of"]

GENERAL = "general"
# Money and loss first, the vaguest last: the order in which a compound goal's intents are named.
_INTENTS = {
    "payment": (
        "pay payment paid checkout check_out purchase buy top-up",
        "支付 付款 买单 结账 下单 购买 充值",
    ),
    "transfer": ("transfer remit wire", "转账 汇款 打款 发红包"),
    "delete": ("delete remove erase uninstall clear", "删除 删掉 清空 卸载 移除"),
    "send_message": (
        "send text message reply email e-mail forward",
        "发消息 发短信 发邮件 发微信 发给 回复 转发",
    ),
    "call": ("call dial phone ring", "打电话 拨打 致电 视频通话"),
    "create_event": ("schedule calendar appointment meeting event", "日程 日历 会议 预约"),
    "set_reminder": ("remind reminder alarm timer", "提醒 闹钟 倒计时 定时"),
    "order_food": (
        "food meal takeaway takeout restaurant pizza coffee",
        "外卖 点餐 餐厅 订餐 奶茶 咖啡",
    ),
    "travel": (
        "flight train ticket hotel taxi ride cab trip",
        "机票 车票 火车 高铁 酒店 打车 航班 行程",
    ),
    "navigate": (
        "navigate direction directions route map maps nearest nearby",
        "导航 路线 地图 附近",
    ),
    "play_media": (
        "play watch listen music song video podcast radio",
        "播放 听歌 音乐 视频 电台 看电影 追剧",
    ),
    "take_photo": ("photo picture selfie camera", "拍照 拍摄 相机 自拍"),
    "edit": ("edit rename change update modify draw", "编辑 修改 重命名 更改 更新"),
    "note": ("note notes write_down memo to-do todo list", "记录 笔记 备忘 待办 清单"),
    "settings": (
        "setting settings turn_on turn_off enable disable mute brightness volume wifi bluetooth",
        "设置 打开蓝牙 关闭蓝牙 打开定位 关闭定位 热点 飞行模式 静音 亮度 音量",
    ),
    "share": ("share post publish upload", "分享 发布 上传 发朋友圈"),
    "search": ("search find look_for look_up browse explore show_me", "搜索 查找 查一下 浏览"),
    "read": ("read article news book", "阅读 新闻 文章 看看"),
    "open_file": ("open file folder document download", "打开 文件 文件夹 文档 下载"),
}
_VAGUE = ("search", "read", "open_file")
"""Said of nearly every goal: they count only where nothing else is meant."""


def _pattern(english: str, chinese: str) -> re.Pattern[str]:
    words = "|".join(re.escape(word).replace("_", r"\s") for word in english.split())
    return re.compile(rf"\b(?:{words})\b|{'|'.join(chinese.split())}", re.IGNORECASE)


_PATTERNS = {name: _pattern(*words) for name, words in _INTENTS.items()}


def intents_of(goal: str) -> tuple[str, ...]:
    """The intents in a goal's words; ``("general",)`` when none is known."""
    found = [name for name, pattern in _PATTERNS.items() if pattern.search(goal)]
    clear = [name for name in found if name not in _VAGUE]
    return tuple(clear or found[:1] or [GENERAL])
