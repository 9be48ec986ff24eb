"""Words that places are known by: cities and countries of Chinese talk, English kinds of place."""

from __future__ import annotations

from device.language.words import listed

__all__ = ["CITIES_ZH", "NOT_PLACES_EN", "PLACE_NOUNS_EN"]

CITIES_ZH = listed(
    """
    北京 上海 广州 深圳 杭州 南京 苏州 成都 重庆 武汉 西安 天津 长沙 郑州 青岛 大连 厦门 宁波
    无锡 合肥 福州 济南 沈阳 哈尔滨 长春 昆明 贵阳 南宁 海口 三亚 兰州 西宁 银川 拉萨 乌鲁木齐
    呼和浩特 太原 石家庄 南昌 珠海 东莞 佛山 中山 惠州 绍兴 嘉兴 温州 金华 常州 扬州 镇江 泰州
    徐州 烟台 威海 洛阳 桂林 大理 丽江 香港 澳门 台北 新疆 西藏 云南 四川 浙江 江苏 广东 福建
    山东 湖南 湖北 海南 东京 大阪 京都 首尔 曼谷 新加坡 巴黎 伦敦 纽约 柏林 罗马 悉尼 日本 韩国
    泰国 美国 英国 法国 德国 意大利 西班牙 加拿大 澳大利亚 新西兰 张家界 黄山 泰山 华山 鼓浪屿
    九寨沟 敦煌 西双版纳 北戴河 乌镇 周庄 莫干山 千岛湖 普吉岛 巴厘岛
    """
)
PLACE_NOUNS_EN = listed(
    """
    airport library museum hospital station gym office school park beach shelter clinic bank
    church restaurant cinema theatre theater supermarket hotel pub bar university college mall
    market pool stadium zoo garden gardens castle café cafe bakery pharmacy lake mountains
    forest island studio club temple gallery courthouse embassy consulate dealership workshop
    farm barn kindergarten nursery playground aquarium harbour harbor campsite resort spa salon
    garage
    """
)
NOT_PLACES_EN = frozenset(
    listed(
        """
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday Mondays Tuesdays Wednesdays
    Thursdays Fridays Saturdays Sundays January February March April May June July August
    September October November December Christmas Easter Thanksgiving Halloween Whitsun Ramadan
    Diwali Hanukkah I I'm I've I'll I'd Dr Mr Mrs Ms Prof Dad Mum Mom Mummy Grandma Grandpa Gran
    English French German Spanish Chinese Japanese Italian Portuguese TV
    """
    )
)
"""Capitalised words after a preposition that are no place."""
