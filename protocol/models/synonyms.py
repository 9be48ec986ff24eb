"""Words of two languages that say the same thing, one small hand-made group a concept.

It is no translation dictionary: it covers what people ask and tell an assistant. Chinese words
stand before the slash, English ones after it. ``t.`` are times, ``p.`` people, ``q.`` kinds of
question.
"""

from __future__ import annotations

from typing import Final

__all__ = ["CHINESE", "ENGLISH", "OPPOSITES"]

_TABLE = """
t.1: 周一 星期一 礼拜一 / monday mon; t.2: 周二 星期二 礼拜二 / tuesday tue;
t.3: 周三 星期三 礼拜三 / wednesday wed; t.4: 周四 星期四 礼拜四 / thursday thu;
t.5: 周五 星期五 礼拜五 / friday fri; t.6: 周六 星期六 礼拜六 / saturday sat;
t.7: 周日 周天 星期日 星期天 礼拜天 / sunday sun; t.weekend: 周末 / weekend;
t.week: 每周 每个礼拜 每星期 / weekly; t.day: 每天 每日 天天 / daily everyday;
t.today: 今天 今日 / today; t.tonight: 今晚 / tonight; t.tomorrow: 明天 明日 / tomorrow;
t.yesterday: 昨天 昨日 昨晚 / yesterday; t.after: 后天; t.before: 前天;
t.morning: 早上 早晨 上午 清晨 一早 / morning am; t.noon: 中午 / noon midday;
t.afternoon: 下午 / afternoon pm; t.evening: 晚上 傍晚 夜里 每晚 / evening night;
t.nextweek: 下周 下礼拜 下星期; t.lastweek: 上周 上礼拜 上星期; t.nextmonth: 下个月 下月;
t.lastmonth: 上个月 上月; t.thisyear: 今年; t.nextyear: 明年; t.lastyear: 去年;
t.monthend: 月底 月末; p.mother: 我妈 妈妈 母亲 老妈 妈 / mum mom mother;
p.father: 我爸 爸爸 父亲 老爸 爸 / dad father; p.wife: 老婆 妻子 媳妇 爱人 / wife;
p.husband: 老公 丈夫 / husband; p.son: 儿子 / son; p.daughter: 女儿 闺女 / daughter;
p.grandma: 奶奶 外婆 姥姥 / grandma gran grandmother granny;
p.grandpa: 爷爷 外公 姥爷 / grandpa grandfather grandad; p.sister: 姐姐 妹妹 / sister;
p.brother: 哥哥 弟弟 / brother; p.boss: 老板 领导 上司 主管 / boss manager supervisor;
p.colleague: 同事 / colleague coworker; p.friend: 朋友 闺蜜 好友 / friend friends;
p.teacher: 老师 导师 教师 / teacher tutor; p.doctor: 医生 大夫 / doctor dr;
p.landlord: 房东 / landlord; p.neighbour: 邻居 / neighbour neighbor;
p.child: 孩子 小孩 宝宝 婴儿 小孩子 儿童 娃 / kid child children baby kids infant;
p.client: 客户 / client customer;
q.how: 怎么 怎样 如何 咋 怎么样才能 怎么才能 怎样才能 如何才能 怎么能 怎样能 咋才能 咋个;
q.how: 咋能 该怎么 应该怎么 / how; q.what: 什么 啥 哪些 有什么 有哪些 有啥 什么样 啥样 / what;
q.why: 为什么 为啥 为何 怎么会 咋会 干嘛 干吗 怎么老 怎么总 什么原因 啥原因 怎么回事;
q.why: 咋回事 何故 / why;
q.where: 哪里 哪儿 在哪 去哪 到哪 何处 什么地方 啥地方 哪有 那里有 / where;
q.when: 什么时候 什么时间 何时 啥时候 啥时间 啥时 几时 哪天 哪年 几号 几点 / when;
q.who: 谁 哪位 什么人 何人 谁知道 / who whom whose; q.many: 多少 几个 几次 几种;
q.price: 多少钱 几钱 什么价 价格 价位 价钱 报价 售价 怎么卖 多少块 多少元;
q.price: / price cost costs priced; q.long: 多久 多长时间 几天 多长 要多久;
q.which: 哪个 哪一个 哪家 哪款 哪种 哪部 哪本 哪首 哪间 哪一种 哪一款 / which;
q.mean: 什么意思 啥意思 是什么意思 是啥意思 何意 含义 意思是什么 意思 意味着什么 代表什么;
q.mean: 指的是什么 指什么 / mean means meaning meant;
q.good: 怎么样 怎样呢 好不好 咋样 如何样 好吗 好么 怎样啊 行吗 行不行;
q.cope: 怎么办 咋办 如何是好 怎么处理 如何处理 怎么解决 如何解决 咋整 怎么弄 怎么搞;
q.cope: / cope handle solve;
q.yes: 吗 是不是 是否 能不能 可不可以 可以吗 会不会 能否 可否 有没有 有木有 算不算 行不;
q.yes: / whether; q.age: 多大 几岁 年龄 年纪 / age aged old; q.tall: 多高 身高 / height tall;
p.boyfriend: 男朋友 男友 / boyfriend; p.girlfriend: 女朋友 女友 / girlfriend;
like: 喜欢 喜爱 最爱 爱吃 爱喝 偏爱 钟爱 爱;
like: / like love enjoy favourite favorite adore prefer fond likes loves enjoys;
dislike: 讨厌 不喜欢 不爱 受不了 嫌弃 / hate dislike loathe;
want: 想要 想买 准备 想 希望 要 / want intend hope wish wants wanted;
go: 前往 要去 得去 会去 出发去 去 到 / go going goes went travel head visit trip fly drive;
come: 过来 来访 / come arrive; return: 回来 返回 / return;
buy: 买 购买 入手 购 / buy bought purchase purchased; sell: 卖 出售 销售 / sell sold sale;
give: 送给 送了 给了 给 送 赠送 / give gave gift gives;
receive: 收到 拿到 领到 / receive got get; lend: 借给 / lend lent; borrow: 借了 借 / borrow;
pay: 付 支付 垫 掏钱 / pay paid cover covered; cost: 费用 花了 / fee rent;
cheap: 便宜 实惠 / cheap; dear: 贵 / expensive dear pricey; eat: 吃 / eat ate eaten eats;
drink: 喝 饮 / drink drank; cook: 做饭 做菜 烧菜 煮 烧 / cook bake;
sleep: 睡觉 睡 入睡 睡眠 / sleep slept bed; wake: 起床 醒 / wake woke;
run: 跑步 跑 / run ran jog; walk: 散步 走路 步行 走 怎么走 / walk stroll; swim: 游泳 / swim swam;
read: 看书 读书 阅读 / read book; teach: 教 / teach taught;
work: 工作 上班 任职 就职 职业 / work job employ employer employed works worked;
rest: 休息 放假 / rest holiday vacation; quit: 戒 辞 不干 / quit resign stop stopped;
start: 开始 开工 启动 开播 上映 / start begin began begins;
finish: 完成 做完 结束 搞定 弄完 / finish complete done end ended finished;
meet: 见面 碰面 约好 约了 碰头 / meet met see; meeting: 开会 会议 / meeting;
call: 打电话 来电 / call phone rang ring; message: 短信 消息 发信息 / message text email;
live: 住在 住 家在 定居 租房 居住 / live lived home flat apartment house reside lives living;
near: 附近 旁边 挨着 很近 不远 隔壁 / near close beside nearby round; far: 很远 / far;
move: 搬家 搬到 搬走 搬 / move moved;
keep: 放在 存放 收在 搁 留在 落在 / keep kept store leave left put;
lose: 丢了 弄丢 丢失 输 丢 / lose lost;
find: 找到 找 查找 寻找 查 查询 搜 搜索 / find found search;
broken: 坏了 坏掉 出故障 / break broke broken; repair: 修 修理 维修 / repair fix fixed;
wash: 洗 清洗 清洁 / wash clean cleaned; open: 开门 营业 打开 开启 开 / open opened opens;
close: 关门 停业 封闭 关闭 关掉 关 / closed shut;
marry: 结婚 婚礼 成家 / marry married wedding marriage; divorce: 离婚 分手 / divorce divorced;
birthday: 生日 过生日 / birthday born;
ill: 生病 不舒服 感冒 发烧 病 疾病 / ill sick cold fever flu disease illness;
pain: 疼 痛 疼痛 / pain hurt ache sore; medicine: 药 药物 吃药 / medicine pill tablet medication;
hospital: 医院 住院 / hospital clinic; allergy: 过敏 / allergy allergic;
afraid: 害怕 怕 恐惧 / afraid scared fear; happy: 高兴 开心 快乐 / happy glad;
sad: 难过 伤心 悲伤 / sad upset; tired: 累 疲惫 / tired exhausted; big: 大 巨大 / big large huge;
small: 小 / small little tiny; hot: 热 / hot; cold: 冷 / chilly; left: 左边 左侧 左手 / lefthand;
right: 右边 右侧 右手 / righthand; up: 楼上 上面 / upstairs above;
down: 楼下 下面 / downstairs below; first: 第一 头一 / first; last: 最后 / final;
early: 早到 提早 / early; late: 晚到 迟到 / late; new: 新的 新 / new; old: 旧的 旧 / used;
cat: 猫 / cat kitten; dog: 狗 / dog puppy; car: 车 汽车 轿车 / car vehicle;
train: 火车 高铁 动车 / train railway; plane: 飞机 航班 / plane flight;
bike: 自行车 单车 / bike bicycle; school: 学校 大学 高校 院校 / school university college;
exam: 考试 测验 考 / exam test; dentist: 看牙 牙医 牙科 / dentist tooth teeth;
haircut: 理发 剪头发 / haircut hair; gym: 健身 锻炼 / gym workout exercise;
trip: 旅行 旅游 出差 / travelling journey; money: 钱 资金 / money cash;
number: 号码 电话 手机号 电话号码 / number telephone; password: 密码 / password;
address: 地址 住址 地点 位置 / address location;
company: 公司 单位 企业 厂家 / company firm office; insurance: 保险 / insurance;
expire: 到期 过期 / expire expires; need: 需要 得 必须 要不要 / need must require;
remember: 记住 记得 记一下 别忘 提醒 / remember remind note forget;
weekday: 工作日 / weekday workday; dinner: 晚饭 晚餐 / dinner supper;
breakfast: 早饭 早餐 / breakfast; lunch: 午饭 午餐 / lunch; coffee: 咖啡 / coffee; tea: 茶 / tea;
milk: 牛奶 / milk; meat: 肉 / meat; fish: 鱼 / fish; vegetarian: 吃素 素食 / vegetarian vegan;
smoke: 抽烟 吸烟 烟 / smoke smoking cigarette; alcohol: 喝酒 酒 / alcohol wine beer;
together: 一起 一块 / together; alone: 一个人 独自 / alone;
cancel: 取消 不去了 / cancel cancelled canceled;
postpone: 推迟 改到 改期 延期 挪到 / postpone pushed delayed reschedule;
seek: 求 跪求 寻求 急求 求助 推荐 推荐一下 介绍 介绍一下 介绍几个 谁有 哪位有 告诉我 给我;
seek: 帮我 帮忙 请教 讲一下 说说 讲讲 说一下 / recommend suggest suggestion recommendation;
method: 方法 办法 方式 技巧 诀窍 窍门 途径 攻略 教程 步骤 流程 妙招 法子;
method: / method way ways tip tips approach; reason: 原因 理由 缘故 / reason cause;
differ: 区别 不同 差别 差异 不一样 有什么区别 / difference different differ;
effect: 作用 功效 效果 用处 好处 功能 用途 疗效 / effect benefit use function;
harm: 危害 坏处 副作用 害处 弊端 影响 / harm harmful damage;
film: 电影 影片 片子 大片 / movies films film movie; series: 电视剧 连续剧 剧集 / series show;
novel: 小说 书籍 书 网文 / novel books; story: 故事 / story;
song: 歌曲 歌 曲子 歌名 音乐 / song music songs; lyric: 歌词 / lyrics;
picture: 图片 照片 图 相片 图像 / picture photo image photos pictures;
video: 视频 录像 影像 / video clip; game: 游戏 / game games;
software: 软件 程序 应用 app / software app application program;
site: 网站 网址 网页 官网 / website site webpage;
phone: 手机 移动电话 / cellphone mobile smartphone;
computer: 电脑 计算机 笔记本 笔记本电脑 pc / computer laptop pc; brand: 牌子 品牌 / brand;
nice: 好看 漂亮 美丽 精彩 好听 经典 不错 美 / beautiful pretty nice lovely;
tasty: 好吃 美味 可口 / tasty delicious yummy;
fun: 好玩 有趣 有意思 搞笑 幽默 逗 / fun funny amusing; ugly: 难看 丑 / ugly;
best: 最好 最棒 最佳 / best; good: 好 棒 优秀 / good great fine excellent;
bad: 差 坏 糟 糟糕 不好 / bad terrible awful poor;
fast: 快 快速 迅速 赶紧 赶快 尽快 / fast quick quickly rapid soon; slow: 慢 / slow slowly;
many: 很多 许多 好多 大量 不少 / many lots plenty; few: 很少 少 / few;
now: 现在 目前 如今 最近 近期 近来 当前 / now currently nowadays recently;
before: 以前 之前 从前 过去 / before formerly previously;
after: 以后 之后 然后 后来 / after later afterwards;
always: 总是 老是 一直 经常 常常 老 总 / always often constantly; country: 国家 / country nation;
world: 世界 全球 全世界 / world global; china: 中国 我国 国内 / china chinese;
man: 男人 男生 男的 男孩 男孩子 男士 男性 男 / man men boy male boys;
woman: 女人 女生 女的 女孩 女孩子 女士 女性 女 美女 / woman women girl female girls;
people: 人 人们 人类 别人 大家 他人 / people person everyone;
tell: 告诉 说 讲 表示 说出 / tell say said told says state stated;
ask: 问 询问 提问 / ask inquire asked;
think: 觉得 认为 以为 感觉 看法 / think feel believe thought felt;
know: 知道 清楚 晓得 了解 懂 明白 / know understand knew knows;
look: 看 看看 瞧 观看 / look watching saw watch; listen: 听 听听 / listen hear heard;
write: 写 书写 / write wrote written; draw: 画 绘画 / draw paint painted;
make: 做 制作 制造 弄 办 办理 搞 / make made create produce created produced build built;
use: 用 使用 利用 采用 / using; download: 下载 / download; install: 安装 装 / install installed;
delete: 删除 删掉 删 清除 卸载 / delete remove erase removed;
change: 改 修改 更改 换 更换 变 改变 / change changed replace modify alter;
set: 设置 设定 / set setting; register: 注册 申请 报名 / register apply sign;
login: 登录 登陆 登入 上号 / login; play: 玩 玩耍 / play plays played playing;
earn: 赚钱 挣钱 赚 挣 / earn; lose_weight: 减肥 瘦身 瘦 / slim; fat: 胖 肥胖 肥 / fat;
face: 脸 面部 脸上 / face; hair: 头发 发型; skin: 皮肤 / skin; spot: 痘痘 青春痘 痘 粉刺 / acne;
head: 头 脑袋; belly: 肚子 腹部 / belly stomach; cure: 治 治疗 医治 / cure treat treatment;
pregnant: 怀孕 孕妇 怀上 / pregnant pregnancy; tongue: 英语 英文 / english;
chinese_l: 汉语 中文 / mandarin; translate: 翻译 译成 / translate translation;
word: 单词 词语 词 字 / word; sentence: 句子 造句 句 / sentence; poem: 诗 诗句 诗歌 古诗 / poem;
name: 名字 姓名 名称 叫什么 取名 起名 网名 昵称 叫 / name called named; call_n: 称呼;
mean_of: 解释 / explain explanation; student: 学生 / student pupil; college_e: 高考;
study: 学 学习 学会 在学 / studied learn study lesson class course;
wage: 工资 薪水 薪资 待遇 收入 / wage salary income; shop: 店 商店 店铺 / shop;
free: 免费 不要钱 / free; house: 房子 住房 房屋 房; drive: 开车 驾驶 / driving;
arrive: 到达 抵达 / reach arrived; weather: 天气 气温 / weather; rain: 下雨 / rain raining;
meal: 饭 饭菜 / meal food; dream: 梦见 梦到 做梦 / dream; speak: 说话 讲话 / speak talk;
cry: 哭 / cry; laugh: 笑 / laugh smile; angry: 生气 愤怒 / angry mad; pursue: 追;
love_n: 爱情 恋爱 谈恋爱 / romance; star: 明星 艺人 / celebrity;
singer: 歌手 演唱者 谁唱的 演唱 唱 / singer sing sung;
actor: 演员 主演 谁演的 演 扮演 / actor star starring; author: 作者 / author;
ending: 结局 大结局 / ending; update_v: 更新 升级 / update upgrade;
latest: 最新 新出 / latest newest; popular: 流行 火 热门 受欢迎 / popular;
famous: 有名 著名 出名 知名 / famous; similar: 类似 差不多 相似 一样 像 / similar alike same;
all: 所有 全部 全 都 / all every whole entire; part: 部分 / part; full: 完整 全集 完结 / full;
tall: 高 长高 增高 / high; short: 短 矮 / short; long: 长 / long; hand: 手 / hand;
foot: 脚 / foot feet; white: 白 变白 美白 / white; black: 黑 / black; red: 红 红色 / red;
account: 账号 帐号 号 账户 / account; time: 时间 / time; day: 天 日 / day; year: 年 / year;
month: 月 月份 / month; can: 能 可以 能够 会 可 / able; good_at: 擅长; number_of: 数量 / amount;
problem: 问题 毛病 故障 / problem issue trouble; answer: 答案 回答 / answer;
fail: 打不开 不能 无法 用不了 没法 不了 / fail cannot; virus: 病毒 中毒 / virus;
internet: 网络 上网 网上 联网 / internet online net; province: 省 / province;
city: 城市 市 / city town; place: 地方 / place; letter: 信 / letter; express: 快递 / parcel;
bank: 银行 / bank; card: 卡 / card; law: 法律 / law; illegal: 违法 犯法 / illegal;
lawyer: 律师 / lawyer; police: 警察 公安 / police; train_v: 练; constellation: 星座 / zodiac;
fate: 运势 运气 / fortune luck; fit: 适合 合适 / suit suitable; important: 重要 / important;
hard: 难 困难 / hard difficult; easy: 简单 容易 / easy simple;
true: 真 真的 是真的 真实 / true real really; fake: 假 假的 骗人 骗 / fake false;
very: 很 非常 特别 十分 挺 太 超 超级 / very; most: 最 / most; begin_s: 首;
born: 出生 诞生 / birth; die: 死 去世 死亡 逝世 / die died death dead;
found_v: 成立 建立 创建 创立 / founded established; located: 位于 坐落 / located lies situated;
include: 包括 包含 / include includes including; member: 成员 会员 / member;
leader: 主席 领袖 总裁 / president chairman leader; team: 队 球队 / team; match: 比赛 / match;
win: 赢 获胜 / win won; become: 成为 变成 / become became; also: 也 还 另外 / also too;
because: 因为 由于 / because since;
tell_apart: 辨别 分辨 区分 鉴别 识别 辨认 / distinguish recognise;
previous: 上一 前一 上一个 前一个 上个 / previous;
following: 下一 后一 下一个 后一个 下个 / following next; screenshot: 截屏 截图 / screenshot;
cartoon: 动漫 动画片 动画 卡通片 卡通 / cartoon anime animation;
restaurant: 饭店 餐馆 餐厅 饭馆 馆子 / restaurant; hotel: 酒店 宾馆 旅馆 旅店 / hotel hostel inn;
stolen: 被偷 被盗 被偷了 偷走 / stolen; resource: 资源 种子 百度云 网盘 云盘 下载地址;
expert: 高手 大神 大侠 专家 达人 / expert specialist; useful: 有用 管用 有效 / useful effective;
present: 礼物 礼品 送礼 / present gifts; condition: 要求 条件 / requirement condition;
shopping: 网购 网上购物 购物 / shopping; score_line: 分数线 录取线; career: 就业 找工作 / career;
subject: 专业 学科 / subject major; link: 链接 超链接 / link; snow: 下雪 / snow snowing;
alarm: 闹钟 闹铃 叫醒 / alarm; stupid: 笨 傻 蠢 笨蛋 傻瓜 傻子 傻逼 / stupid silly;
chat: 聊天 聊聊 聊 谈谈 / chat; bye: 再见 拜拜 / bye goodbye;
thanks: 谢谢 多谢 感谢 谢了 谢啦 / thanks thank; hello: 你好 您好 哈喽 / hello hi;
good_morning: 早安 早上好; good_night: 晚安; strong: 厉害 牛逼 强 厉害了 / strong powerful;
plus: 加上 加 / plus add; minus: 减去 减 / minus; times: 乘以 乘; divided: 除以 除;
equals: 等于 / equals; volume: 音量 / volume; louder: 大点声 大声 大声点 / louder;
quieter: 小点声 小声 小声点 / quieter; wireless: 无线网 无线网络 wifi 无线 / wifi;
torch: 手电筒 手电 / flashlight torch; charge: 充电 / charge charging;
battery: 电量 电池 / battery; stuck: 卡顿 死机 卡死 卡住 / stuck freeze;
play_media: 播放 放一首 来一首 放首 来首 唱首; joke: 笑话 段子 / joke;
necessary: 必要 有必要 / necessary; consequence: 后果 结果 / consequence result;
feature: 特点 特色 特征 特性 / feature characteristic; type: 类型 种类 种 类 / type kind sort;
shape: 形状 样子 / shape; colour: 颜色 色 / color colour; size: 尺寸 尺码 大小 / size;
weight: 体重 重量 多重 / weight; taste: 味道 口味 / taste flavour; side: 旁 边 / side;
inside: 里面 内部 / inside; outside: 外面 外部 / outside;
beginner: 新手 初学者 菜鸟 / beginner newbie; level: 等级 级别 级 / level;
equipment: 装备 / equipment gear; raise: 提高 提升 增加 增强 / raise increase improve;
lower: 降低 减少 下降 / lower reduce decrease; prevent: 防止 预防 避免 / prevent avoid;
avoid_acne: 祛痘 去痘 战痘; child_birth: 生孩子 分娩 生产; birth_control: 避孕;
period: 月经 大姨妈 例假 / period; breast: 胸部 胸 / breast; sex: 性生活 做爱 / sex;
hurt: 受伤 伤 / injured wounded; wound: 伤口 / wound; blood: 血 血液 / blood;
heart: 心脏 / heart; eye: 眼睛 眼 / eye eyes; ear: 耳朵 / ear ears; nose: 鼻子 / nose;
mouth: 嘴 嘴巴 / mouth; lip: 嘴唇 / lip lips; leg: 腿 / leg legs; waist: 腰 / waist;
back: 背 背部; bone: 骨头 / bone; fruit: 水果 / fruit;
vegetable: 蔬菜 青菜 / vegetable vegetables; rice: 米饭 / rice; noodle: 面条 / noodles noodle;
egg: 鸡蛋 / egg eggs; clothes: 衣服 服装 服饰 / clothes clothing; shoe: 鞋子 鞋 / shoes shoe;
trousers: 裤子 / trousers pants; bag: 包包 包 / bag; match_clothes: 搭配 配;
perfume: 香水 / perfume; cosmetics: 化妆品 护肤品 / cosmetics makeup; bath: 洗澡 / bath shower;
toilet: 厕所 卫生间 洗手间 / toilet bathroom restroom; kitchen: 厨房 / kitchen; bed: 床;
door: 门 / door; key: 钥匙 / key keys; umbrella: 雨伞 伞 / umbrella; glasses: 眼镜 / glasses;
camera: 相机 照相机 / camera; watch_n: 手表 / wristwatch; tv: 电视 电视机 / tv television;
fridge: 冰箱 / fridge refrigerator; ac: 空调 / aircon; bus: 公交 公交车 公共汽车 巴士 / bus;
metro: 地铁 / metro subway; taxi: 出租车 打车 的士 / taxi cab;
ticket: 票 车票 门票 / ticket tickets; airport: 机场 / airport; station: 车站 / station;
road: 路 道路 公路 / road street; park: 公园 / park; mountain: 山 / mountain;
river: 河 河流 / river; sea: 海 大海 / sea ocean; island: 岛 / island;
east: 东部 东 / east eastern; west: 西部 西 / west western; south: 南部 南 / south southern;
north: 北部 北 / north northern; capital: 首都 / capital; population: 人口 / population;
history: 历史 / history; war: 战争 / war battle; army: 军队 / army military;
government: 政府 / government; party: 聚会 派对 / party; music_album: 专辑 / album;
record_v: 录制 记录 / recorded recording; release: 发布 发行 出版 / release released published;
publish: 出版社 / publisher; direct: 导演 / director directed;
character: 人物 角色 / character role; win_prize: 获奖 / award; club: 俱乐部 / club;
season: 赛季 / season; coach: 教练 / coach; player: 球员 选手 / player;
football: 足球 / football soccer; basketball: 篮球 / basketball;
serve: 服务 服役 担任 / serve served serves; work_for: 效力; merge: 合并 / merged merge;
belong: 属于 / belong belongs; connect: 连接 联接 / connect connected; support: 支持 / support;
research: 研究 / research; develop: 发展 开发 / develop development; same_n: 同样 相同;
rare: 罕见 稀有 稀少 / rare; common: 常见 普遍 / common; main: 主要 / main mainly;
other: 其他 其它 别的 / other others another; together_with: 连同;
soon: 马上 立刻 立即 即将 快要 / immediately; early_t: 早 提前 / earlier; late_t: 晚 迟;
tonight_n: 夜;
schedule: 日程 行程 安排 计划 打算 / schedule schedules plan plans planned arrangement;
booking: 预约 预订 预定 订 / booked booking reserve reserved reservation;
interview: 面试 / interview; report: 报告 / report; project: 项目 / project;
deadline: 截止 截止日期 / deadline; contract: 合同 / contract; rent: 房租 租金 租;
bill: 账单 / bill; hobby: 爱好 兴趣 / hobby; pet: 宠物 / pet; flower: 花 / flower flowers;
tree: 树 / tree; bird: 鸟 / bird; snake: 蛇 / snake; pig: 猪 / pig; chicken: 鸡 鸡肉 / chicken;
beef: 牛肉 / beef; spicy: 辣 / spicy; sweet: 甜 / sweet; salty: 咸 / salty; sour: 酸 / sour;
bitter: 苦 / bitter; bread: 面包 / bread; cake: 蛋糕 / cake; sugar: 糖 / sugar; salt: 盐 / salt;
water: 水 / water; soup: 汤 / soup
"""

_OPPOSED = """
like dislike, buy sell, lend borrow, start finish, start quit, open close, cheap dear, big small,
hot cold, left right, up down, first last, early late, new old, come go, lose find, happy sad,
marry divorce, near far, give receive, broken repair, sleep wake, work rest, together alone,
p.mother p.father, p.son p.daughter, p.wife p.husband, p.grandma p.grandpa, p.sister p.brother,
p.boyfriend p.girlfriend, man woman, cat dog, tea coffee, study teach, t.morning t.evening,
breakfast lunch, previous following, good bad, fast slow, many few, before after, tall short,
long short, white black, true fake, hard easy, win lose, raise lower, louder quieter, plus minus,
times divided, inside outside, east west, south north, spicy sweet, install delete
"""


def _read(table: str) -> tuple[dict[str, str], dict[str, str]]:
    chinese: dict[str, str] = {}
    english: dict[str, str] = {}
    for group in table.replace("\n", " ").split(";"):
        name, _, words = group.strip().partition(":")
        zh, _, en = words.partition("/")
        chinese |= dict.fromkeys(zh.split(), "@" + name)
        english |= dict.fromkeys(en.split(), "@" + name)
    return chinese, english


_BOTH = _read(_TABLE)
CHINESE: Final = _BOTH[0]
"""Chinese word → concept ("@like", times "@t.…", people "@p.…", kinds of question "@q.…")."""
ENGLISH: Final = _BOTH[1]
"""English word or stem → concept."""

OPPOSITES: Final = frozenset(
    frozenset("@" + name for name in pair.split()) for pair in _OPPOSED.split(",")
)
"""Concepts that exclude each other where one text has the one and its twin the other."""
