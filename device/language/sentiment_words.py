"""Words and phrases of feeling, Chinese and English, written for this project; about 9 kB."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

from device.language.words import listed

__all__ = [
    "CHINESE_NEGATIVE",
    "CHINESE_POSITIVE",
    "ENGLISH_NEGATIVE",
    "ENGLISH_POSITIVE",
    "PHRASES_NEGATIVE",
    "PHRASES_POSITIVE",
]

CHINESE_POSITIVE = listed(
    """
    喜欢 热爱 喜爱 爱吃 爱喝 爱看 爱听 爱玩 最爱 超爱 爱死 爱上 我爱 很爱 深爱 疼爱 开心 高兴
    快乐 幸福 满意 期待 盼着 兴奋 激动 棒 美好 有趣 有意思 好吃 好喝 好看 好听 好玩 好用 舒服
    舒适 舒心 舒畅 感动 顺利 成功 轻松 漂亮 享受 精彩 优秀 出色 完美 不错 真好 很好 挺好 太好
    特别好 非常好 更好 蛮好 最好的 超好 好极 好多了 好转 变好 好消息 愉快 欢乐 欢喜 喜悦 惊喜
    欣慰 欣喜 自豪 骄傲 感激 感谢 谢谢 多谢 幸运 温暖 温馨 甜蜜 很甜 甜得 好甜 贴心 体贴 善良
    热情 可爱 帅 美丽 很美 真美 太美 美得 优美 迷人 浪漫 安心 放心 踏实 松了一口气 松口气 解脱
    痛快 爽 过瘾 带劲 给力 点赞 赞 厉害 佩服 欣赏 羡慕 值得 划算 满足 知足 充实 自在 惬意 悠闲
    神清气爽 精神 健康 康复 痊愈 恢复得 升职 加薪 中奖 夺冠 赢了 考过 考上 通过了 过了考试 录取
    成了 还清 乐疯 乐坏 乐开花 笑 开怀 乐趣 美味 美满 圆满 香得 真香 好香 很香 可口 鲜美 地道
    表扬 夸 鼓励 支持我 陪着我 如愿 顺心 理想 顺畅 顺风 治愈 放松 平静 宁静 期盼 心动 心仪 钟爱
    钟情 中意 太好了 太棒 超级好 没得说 百看不厌 回味无穷 心满意足 心花怒放 大饱
    """
)
CHINESE_NEGATIVE = listed(
    """
    讨厌 厌恶 反感 嫌弃 难过 伤心 悲伤 悲痛 心碎 生气 气死 愤怒 恼火 发火 火大 烦 烦躁 焦虑 焦躁
    压力 累 疲惫 疲劳 疲倦 失望 绝望 害怕 恐惧 可怕 吓 担心 担忧 忧虑 忧郁 后悔 懊悔 遗憾 可惜
    痛苦 糟 糟糕 糟心 孤独 孤单 寂寞 难受 难吃 难喝 难看 难听 难闻 难熬 失败 郁闷 受不了 忍不了
    恨 沮丧 疼 痛 头疼 头痛 过敏 堵得慌 堵车 失眠 睡不着 睡不好 被骂 骂了 挨骂 挨批 批评 吵架
    吵得 吵闹 太吵 被偷 丢了 弄丢 摔碎 摔坏 摔了 坏了 坏掉 碎了 黄了 泡汤 白忙 白费 倒霉 倒楣
    扫兴 无聊 乏味 没劲 没意思 没用 差劲 太差 很差 最差 真差 更差 差评 恶心 恶劣 变差 变坏
    不舒服 不开心 不高兴 不喜欢 不爱 不满 不好 不理想 不如意 不在乎 不顺 不行 不值 不公平 不适
    不安 不耐烦 委屈 冤枉 心酸 心疼 心烦 心累 心慌 紧张 慌 慌张 迷茫 困惑 崩溃 抑郁 压抑 低落
    消沉 生病 病了 发烧 感冒 咳嗽 住院 受伤 骨裂 骨折 恶化 去世 过世 走了以后 离世 分手 离婚
    失业 被裁 裁员 被骗 上当 亏了 亏本 浪费 放鸽子 爽约 迟到 挂科 不及格 没考上 苦得 好苦 太苦
    痛恨 喘不过气 麻木 无助 无奈 内疚 愧疚 自责 尴尬 丢脸 丢人 嫉妒 吃醋 抱怨 投诉 讽刺 嘲笑
    欺负 凄凉 惨 悲催 烂 垃圾 坑爹 坑人 折磨 煎熬 噩梦 吓人 再也不来
    """
)
ENGLISH_POSITIVE = frozenset(
    listed(
        """
    love loved loves loving adore adored enjoy enjoyed enjoys enjoying enjoyable happy happier
    happiest happily glad great greatest wonderful wonderfully amazing amazed awesome excellent
    fantastic brilliant superb terrific magnificent marvelous marvellous fabulous splendid
    excited exciting thrilled thrilling fun funny hilarious favorite favourite good better best
    beautiful beautifully gorgeous pretty stunning lovely cute adorable delicious tasty yummy
    proud relaxing relaxed relaxation calm peaceful cosy cozy comfy comfortable perfect
    perfectly pleased pleasant pleasure nice nicely nicer delighted delightful grateful thankful
    thanks blessed lucky fortunate relieved relief hopeful optimistic confident success
    successful successfully win won winning winner victory smooth smoothly easy recovering
    recovered healed healthy cheers cheerful joy joyful joyous bliss laugh laughed laughing
    smile smiled smiling sweet kind friendly helpful generous thoughtful caring supportive
    encouraging inspiring inspired impressive impressed elegant charming romantic rewarding
    satisfied satisfying worthwhile refreshing refreshed energized promoted promotion
    congratulations congrats bravo yay hooray woohoo celebrate celebrated celebrating welcome
    gem incredible incredibly unforgettable memorable magical epic stellar top-notch flawless
    effortless safe cured accomplished fond
    """
    )
)
ENGLISH_NEGATIVE = frozenset(
    listed(
        """
    hate hated hates hating dislike disliked detest despise loathe sad sadder sadly sadness
    unhappy miserable angry anger furious mad upset upsetting terrible terribly awful awfully
    horrible horribly dreadful disgusting gross nasty stressed stressful stress anxious anxiety
    worried worry worrying worries nervous tired exhausted exhausting drained fatigued bad badly
    worse worst disappointed disappointing disappointment disappoint scared scary afraid
    frightened terrified fear fears lonely loneliness alone frustrated frustrating frustration
    annoyed annoying irritated irritating pain painful hurt hurts hurting ache aches aching sore
    bored boring dull tedious regret regretted sick ill allergic depressed depressing depression
    down cry cried crying tears sob heartbroken heartbreaking broken broke fail failed failing
    failure fails lost lose losing stolen robbed cheated cancelled ruined ruin wrecked waste
    wasted useless worthless pointless rude mean unfair unfriendly noisy cold tasteless bland
    overpriced crowded dirty filthy smelly ugly yelled shouted screamed insulted humiliated
    embarrassed embarrassing ashamed guilty guilt jealous bitter hopeless helpless desperate
    overwhelmed struggling struggle struggled suffer suffered suffering died dead death dying
    grief grieving mourning injured injury accident crash crashed nightmare disaster catastrophe
    mess messy problem problems trouble troubled complain complained complaint divorce divorced
    breakup fired unemployed delayed delay sucks sucked lousy pathetic ridiculous unbearable
    intolerable insomnia sleepless headache migraine nausea dizzy fever unwell weak
    uncomfortable disturbing concerned confused cruel hostile ignored abandoned rejected
    """
    )
)
PHRASES_POSITIVE = (
    r"没有比.{1,8}更好|一点[都也]?不(?:累|难|疼|贵|怕)|不用再|没得说|没话说|松了一?口气|乐疯了"
    r"|can't complain|couldn't (?:have .{0,20}better|be (?:happier|better|prouder))|over the moon|looking forward|(?:made|make|makes) my day"
    r"|not a single (?:problem|issue)|slept like a baby|no complaints|on cloud nine|came back clean|feel(?:ing|s)? (?:much )?better|got the job"
    r"|not (?:half |too |so |at all )?bad\b|n't bad\b|\b(?:passed|aced) (?:my|the|his|her)|in good hands|dream come true|life is good|worth (?:it|every)"
    r"|can't wait\b|highly recommend|well done|good news|thank (?:you|god|goodness)|\bi(?: really| do| also)* like\b|we(?: really| do)* like\b"
)
PHRASES_NEGATIVE = (
    r"没有?一[天件个].{0,3}(?:顺心|好|开心)|根本不|一点[也都]?不(?:开心|高兴|好|喜欢|舒服|顺)|再也不(?:来|去|买|想)|要命|心里堵|太不像话"
    r"|fed up|let (?:me|us|him|her) down|kill(?:ing|s) me|drives? me (?:crazy|mad|nuts)|broke up|not worth|n't worth|not good enough|n't good enough|feel(?:ing)? (?:down|blue|low)"
    r"|can't (?:sleep|stand|take (?:it|this)|cope)|never listens|\bi miss(?:ed)? (?:my|him|her|them|you|the|home)|waste of|(?:got|was|were) (?:stolen|robbed|dumped|fired|laid off)|passed away"
    r"|sick of|tired of|burnt? out|at my wits|in tears|bad news|what a (?:mess|waste|shame|pity|nightmare)|n't (?:like|enjoy|love|happy)|not (?:happy|great|ideal|amused)|lost my"
)
