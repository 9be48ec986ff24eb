"""Word lists the language rules share. Small on purpose: a phone holds them for ever."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

__all__ = [
    "ENGLISH_STOP_WORDS",
    "HAN",
    "RELATIONS_EN",
    "RELATIONS_ZH",
    "STOP_CHARACTERS",
    "listed",
]


def listed(text: str) -> tuple[str, ...]:
    """The words of a text block, which reads better than a column of literals."""
    return tuple(text.split())


HAN = "\u3400-\u4dbf\u4e00-\u9fff"
"""Character class of the Chinese characters in everyday use."""

STOP_CHARACTERS = frozenset(
    "的了是在我你他她它们这那有和与就都也很吗呢吧啊呀么什个一不会说要把被给让到去来没"
)

ENGLISH_STOP_WORDS = frozenset(
    listed(
        """
    a an the and or but if then so of to in on at for from by with about as into is are was were
    be been being am do does did doing have has had having i me my mine we us our you your he
    him his she her it its they them their this that these those there here what when where who
    which how why will would can could shall should may might must not no yes just very too also
    than i'm i've i'll i'd it's that's don't didn't you're we're what's
    """
    )
)

RELATIONS_ZH = {
    "爸爸": "father", "爸": "father", "父亲": "father", "老爸": "father", "爹": "father",
    "妈妈": "mother", "妈": "mother", "母亲": "mother", "老妈": "mother", "爸妈": "parents", "父母": "parents",
    "老婆": "wife", "妻子": "wife", "媳妇": "wife", "太太": "wife", "未婚妻": "partner",
    "老公": "husband", "丈夫": "husband", "未婚夫": "partner", "老伴": "spouse", "爱人": "spouse",
    "对象": "partner", "伴侣": "partner", "女朋友": "girlfriend", "女友": "girlfriend",
    "男朋友": "boyfriend", "男友": "boyfriend", "儿子": "son", "女儿": "daughter", "闺女": "daughter",
    "孩子": "child", "娃": "child", "宝宝": "child", "孙女": "granddaughter", "孙子": "grandson",
    "外孙": "grandson", "外孙女": "granddaughter", "哥哥": "brother", "弟弟": "brother",
    "姐姐": "sister", "妹妹": "sister", "表哥": "cousin", "表弟": "cousin", "表姐": "cousin", "表妹": "cousin",
    "堂哥": "cousin", "堂弟": "cousin", "堂姐": "cousin", "堂妹": "cousin", "爷爷": "grandfather",
    "奶奶": "grandmother", "外公": "grandfather", "外婆": "grandmother", "姥爷": "grandfather", "姥姥": "grandmother",
    "岳父": "father_in_law", "岳母": "mother_in_law", "公公": "father_in_law", "婆婆": "mother_in_law",
    "叔叔": "uncle", "舅舅": "uncle", "姑姑": "aunt", "姨妈": "aunt", "侄子": "nephew", "侄女": "niece", "外甥": "nephew",
    "老板": "boss", "领导": "boss", "同事": "colleague", "客户": "client", "朋友": "friend", "闺蜜": "friend", "哥们": "friend",
    "同学": "classmate", "室友": "roommate", "老师": "teacher", "导师": "teacher", "房东": "landlord", "邻居": "neighbour",
    "猫咪": "cat", "猫": "cat", "狗狗": "dog", "狗": "dog", "金毛": "dog", "柯基": "dog", "泰迪": "dog", "哈士奇": "dog",
    "拉布拉多": "dog", "英短": "cat", "布偶": "cat", "橘猫": "cat", "鹦鹉": "parrot", "仓鼠": "hamster", "兔子": "rabbit",
}  # fmt: skip

RELATIONS_EN = {
    "father": "father", "dad": "father", "mother": "mother", "mom": "mother", "mum": "mother", "parents": "parents",
    "wife": "wife", "husband": "husband", "spouse": "spouse", "girlfriend": "girlfriend", "boyfriend": "boyfriend",
    "partner": "partner", "fiancé": "partner", "fiancée": "partner", "fiance": "partner", "fiancee": "partner",
    "son": "son", "daughter": "daughter", "child": "child", "children": "child", "kids": "child", "kid": "child", "baby": "child",
    "toddler": "child", "grandson": "grandson", "granddaughter": "granddaughter", "brother": "brother", "sister": "sister",
    "boss": "boss", "manager": "boss", "colleague": "colleague", "coworker": "colleague", "co-worker": "colleague",
    "client": "client", "friend": "friend", "best friend": "friend", "classmate": "classmate", "roommate": "roommate", "flatmate": "roommate",
    "teacher": "teacher", "landlord": "landlord", "landlady": "landlord", "cat": "cat", "kitten": "cat", "dog": "dog", "puppy": "dog",
    "pup": "dog", "golden retriever": "dog", "labrador": "dog", "corgi": "dog", "poodle": "dog", "parrot": "parrot", "hamster": "hamster",
    "rabbit": "rabbit", "horse": "horse", "grandfather": "grandfather", "grandpa": "grandfather", "granddad": "grandfather",
    "grandmother": "grandmother", "grandma": "grandmother", "gran": "grandmother", "nan": "grandmother",
    "neighbour": "neighbour", "neighbor": "neighbour", "cousin": "cousin", "aunt": "aunt", "uncle": "uncle", "niece": "niece",
    "nephew": "nephew", "in-laws": "parents_in_law", "mother-in-law": "mother_in_law", "father-in-law": "father_in_law",
    "sister-in-law": "sister_in_law", "brother-in-law": "brother_in_law", "doctor": "doctor", "therapist": "therapist", "nanny": "nanny",
}  # fmt: skip
