"""Text that is never a memory: what systems print, greetings, thanks, nods, talk of the weather."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re

from device.language.patterns import Bilingual

__all__ = ["is_nod", "is_small_talk", "is_system_text"]

_SYSTEM_TEXT = re.compile(
    r"^\s*(?:正在?(?:加载|连接|更新|下载|搜索|同步|处理|输入)|(?:加载|连接|处理|识别)中|请稍[候等]|网络.{0,4}(?:异常|错误|失败|断开|不可用|超时)|操作(?:成功|失败|超时)|系统(?:提示|消息|通知)|(?:您|你)的(?:电量|验证码|账号|账户|余额|流量|订单|快递|存储|登录|密码|设备)"
    r"|验证码|(?:语音|视频)通话|通话时长|未接来电|\S{0,8}(?:上传|下载|保存|复制|发送|登录|支付|安装|更新|同步|连接|提交)(?:成功|失败|完成)[。！!]?\s*$|\S{0,10}撤回了?一条消息|\S{0,10}(?:加入|退出)了?群聊|以下是?新消息|点击(?:这里|链接|查看)|电量(?:低|不足)"
    r"|loading|please wait|connecting|updating|downloading|uploading|searching|syncing|error\b|fatal\b|warning:|exception\b|(?:the )?(?:connection|network|request|login|upload|download|sync|payment) (?:failed|lost|error|timed out|complete|successful)"
    r"|(?:this|a|the) message (?:was|has been) (?:deleted|unsent|removed)|(?:your )?(?:verification|security|one-time|login) (?:code|password)|your (?:otp|pin|code|session|password|account|battery|storage|order|package) (?:is|has|was|will)|battery (?:low|is|at)|low battery|(?:missed )?(?:voice|video) call\b|storage (?:is )?(?:almost )?full"
    r"|\S{0,12}\s?\S{0,12} (?:uploaded|downloaded|saved|sent|installed|updated|copied|deleted) successfully|.{0,30} (?:joined|left) the (?:group|chat)\b|messages? (?:and calls )?are end-to-end|tap to\b|click (?:here|the link)"
    r"|\[[^\]]*\]\s*$|<[^>]*>\s*$|【[^】]*】\s*$)"
    r"|^\s*\d{1,2}:\d{2}(?::\d{2})?\s*$|请重试\s*[。！!]?$|please (?:retry|try again)\s*[.!]*$",
    re.IGNORECASE,
)

_NOD_ZH = (
    r"嗯+|恩+|哦+[了的]?|噢+|喔+|唔|啊+这?|诶|唉|哎呀?|哟|呀|嘿+|哈+|呵+|嘻+|对(?:了|的|啊|呀|呢|对+)?|是(?:的|啊|呀|呢|吗|嘛)?|没错+(?:没错)*|好(?:的|吧|呀|啊|嘞|哒|滴|了|主意|极了|想法)*(?:好的)*|行(?:吧|啊|呀|了)?|可以(?:的|啊)?"
    r"|当然(?:了|可以)?|确实(?:是|如此)?|的确|其实|原来(?:如此|是这样)|这样(?:啊|子)?|明白(?:了)?|懂了|了解(?:了)?|知道(?:了|啦)*(?:知道了)*|我(?:知道|明白|懂|了解)(?:了|啦)?|晓得了?|收到(?:了)?|记(?:下|住)(?:来)?了|我?(?:已经)?记(?:下|住)(?:来)?了"
    r"|没(?:有)?(?:什么)?(?:问题|事|关系|毛病|意见)(?:了|的|啦|儿)?|不用(?:了|谢|客气)?|不客气|算了吧?|随便|都行|无所谓|谢{1,4}(?:你|您|啦|了|提醒|的?建议)*|多谢.{0,8}|感谢.{0,12}|非常感谢.{0,10}|太感谢.{0,8}|谢谢你的\S{1,8}|帮了(?:我)?大忙|麻烦(?:你|您)了.?|辛苦(?:了|啦|你了)?"
    r"|早(?:上好|安|啊)?呀?|(?:上午|中午|下午|晚上)好[呀啊]?|晚安|(?:你|您|大家)好[呀啊]?(?:AI\S{0,4})?|再见|拜拜|回见|明天见|在(?:吗|忙吗|不在)?|加油|冲(?:啊)?|困死|笑死(?:我了)?|我?无语了?|绝了|牛(?:啊|逼)?|厉害(?:了|啊)?|长见识了|学到了|涨知识了"
    r"|你真\S{1,6}|您真\S{1,6}|我(?:再)?(?:看看|想想|考虑一下|试试|试试看|会注意的|会的|会努力的)|就(?:这样|这么|按你说的)(?:吧|办|定了|的)?(?:办)?|那就(?:这样|这么|订|好|行)(?:定|办)?(?:了|吧)?|按你说的办|你先忙|先这样(?:吧)?|就是这个意思|说得(?:对|好|有道理)|你说得?(?:对|有道理)|有(?:道理|意思)|听起来(?:很|挺|真)?(?:不错|棒|好|有趣)"
    r"|太(?:好|棒|赞|贴心|厉害|有趣|酷)(?:了|啦)|真(?:好|棒|不错|的)(?:吗|啊|呀)?|很?不错(?:呀|啊|哦)?|可不是(?:嘛)?|确认(?:一下)?|同意|赞同|朋友|亲|哇+|天啊|我的天|是这样的?|非常(?:好|棒|重要|有用)|有帮助|没有(?:了|其他)?(?:问题)?(?:了)?|今天(?:就|先)到这里?吧?|(?:我)?问完了|放心(?:吧)?|下次(?:再)?聊|改天聊|慢走|请(?:进|坐)"
)
_NOD_EN = (
    r"ok(?:ay)?|yes+(?: please| sir)?|yea+h?|yep|yup|no|nope|nah|sure(?: thing)?|right|correct|exactly|indeed|absolutely|definitely|totally|of course|true|agreed?|confirmed?|great|grand|fine|nice(?: one)?|cool|awesome|amazing|perfect|wonderful|lovely|brilliant|wow+|oh+|ah+|aw+|ha(?:ha)+|hehe|lol|lmao|hm+|mm+|uh+|um+|well|so|maybe|perhaps|alright|all right"
    r"|thanks?(?: you)?(?: (?:so|very) much)?(?: (?:a lot|again|anyway|everyone|all|man|buddy|friend))*(?: for .{1,40})?|thx|ty|cheers|much appreciated|you saved me|you're welcome|no (?:problem|worries|need)|my pleasure|don't mention it|appreciate (?:it|you|that).{0,20}"
    r"|hi|hello|hey|howdy|good (?:morning|night|evening|afternoon|day)|morning|bye(?: bye)?|goodbye|see (?:you|ya)(?: \w+)?|talk (?:to you )?(?:soon|later)|catch you later|take (?:care|your time)|sleep well|sweet dreams|there|you there"
    r"|got it|i (?:see|know|agree|understand|get it|guess so|think so|hope so|mean)|(?:that )?makes sense|that(?:'s| is) (?:it|right|true|great|good|nice|cool|awesome|amazing|wonderful|what i mean|all|hilarious|funny|fine|so \w+|really \w+)(?: then| to hear)?|it(?:'s| is) (?:fine|ok(?:ay)?|all right)|let me (?:see|think|check)|i'm (?:speechless|fine|good|ok(?:ay)?|done|glad)|go ahead|as you (?:say|wish)|do it your way|sounds (?:good|great|fine|perfect|like .{1,20})|good (?:idea|point|luck|for you|to know|job|call)|great (?:idea|job|point)|nice (?:work|job)|well done|congrat\w+.{0,12}|keep (?:it up|going)"
    r"|you(?:'re| are) (?:so |very |really )?(?:smart|right|awesome|amazing|funny|kind|sweet|the best|welcome|great)|what a (?:relief|surprise)|please|there|so much|then|man|my|feet|deep breath|friend|buddy|haha no worries|and you|you too|same here|me too|i'll (?:let you know.{0,20}|see you.{0,12}|keep (?:that in mind|you posted|going).{0,10}|think about it|try|be (?:right )?back|check it out|take a look|do that|remember that)|book it|go for it|we got this|you got this|can't wait|no way|oh my(?: god)?|omg|by the way|anyway|hilarious|i'm all ears|tell me about it"
)
_NOD = re.compile(
    rf"^[\W_]*(?:{_NOD_ZH}|{_NOD_EN})(?:[\W_]*(?:吧|呢|啊|呀|啦|了|哦|哈))?[\W_]*$", re.IGNORECASE
)
_CUT = re.compile(
    r"[，,。！？!?；;~～…\n]+|(?<=\w)\.+(?=\s|$)|\s-\s|(?<=[哈嗯])\s*(?=[\u4e00-\u9fff])"
)
_SMALL_RUN = re.compile(rf"^(?:[\W_]|{_NOD_EN})+$", re.IGNORECASE)

_WEATHER = Bilingual(
    zh=r"天气|太阳(?:真|好)|风有?点?[大小]|又?下雨|下雪|回南天|天(?:亮|黑)得|(?:今天|最近|外面|这几天)?(?:好|真|太|可真)(?:冷|热|晒|闷|潮)(?:啊|呀|了|哦)?|太阳真|降温",
    en=r"\bweather\b|\braining\b|\brain again\b|\bsunny\b|chucking it down|\bsnowing\b|\b(?:so|really|too|pretty|freezing|boiling) (?:cold|hot|humid|windy)(?= today| out| here|$|[!.])|\bsun is\b",
    hints="chucking it down|cold|hot|humid|rain again|raining|snowing|sun is|sunny|weather|windy",
)
WEATHER_CHARACTERS = 40
"""A longer clause that mentions the weather is about something else too."""


def is_system_text(text: str) -> bool:
    """Whether a program printed this."""
    return bool(_SYSTEM_TEXT.search(text))


def is_nod(clause: str) -> bool:
    """Whether a clause only greets, thanks, agrees, laughs, or remarks on the weather."""
    stripped = clause.strip()
    if not stripped or _NOD.match(stripped):
        return True
    return len(stripped) <= WEATHER_CHARACTERS and bool(_WEATHER.search(stripped))


def is_small_talk(text: str) -> bool:
    """Whether nothing but nods is said."""
    if len(text) <= WEATHER_CHARACTERS and _SMALL_RUN.match(text):
        return True
    return all(is_nod(part) for part in _CUT.split(text))
