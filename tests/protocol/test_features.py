"""Text features: the same everywhere, and worth something."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from protocol.models.concepts import concepts
from protocol.models.embedding import QUERY_NORM
from protocol.models.features import (
    EMBEDDING,
    HAND_FEATURES,
    PAIR_FEATURE_NAMES,
    PAIR_FEATURES,
    QUERY_FEATURE_NAMES,
    QUERY_FEATURES,
    dedup_features,
    embed,
    router_features,
)
from protocol.models.sizes import QUERY_EMBEDDING
from protocol.models.tokens import tokens

TEXTS = (
    "帮我把下周三去杭州的行程改到周四下午",
    "Do you remember the restaurant I mentioned last time?",
    "我叫林晓，住在 West Lake 边上, room 502！",
    "",
    "🎉🎉",
    "ｆｕｌｌ　ｗｉｄｔｈ naïve café",
)
PRINT_DIGEST = """
import hashlib
from protocol.models.features import dedup_features, embed, router_features
from tests.protocol.test_features import TEXTS
digest = hashlib.sha256()
for text in TEXTS:
    digest.update(embed(text).tobytes() + router_features(text).tobytes())
    for other in TEXTS:
        digest.update(dedup_features(text, other).tobytes())
print(digest.hexdigest())
"""


def auc(scores: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    """Chance that a positive scores above a negative, ties counting half."""
    values, place = np.unique(scores, return_inverse=True)
    positive = np.bincount(place[labels == 1], minlength=values.size)
    negative = np.bincount(place[labels == 0], minlength=values.size)
    below = np.cumsum(negative) - negative
    return float((positive * (below + negative / 2)).sum() / positive.sum() / negative.sum())


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_gives_finite_features_in_range(a: str, b: str) -> None:
    vector = embed(a)
    assert vector.shape == (EMBEDDING,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6) or not vector.any()
    query = router_features(a)
    assert query.shape == (QUERY_FEATURES,)
    words, marks = query[:QUERY_EMBEDDING], query[QUERY_EMBEDDING:]
    assert np.linalg.norm(words) == pytest.approx(QUERY_NORM, abs=1e-6) or not words.any()
    assert ((marks >= 0) & (marks <= 1)).all()
    pair = dedup_features(a, b)
    assert pair.shape == (PAIR_FEATURES,)
    assert np.isfinite(pair).all()
    assert ((pair >= 0) & (pair <= 1 + 1e-6)).all()
    assert np.array_equal(pair, dedup_features(b, a))


@pytest.mark.parametrize("seed", ["0", "1"])
def test_features_do_not_depend_on_hash_randomisation(seed: str) -> None:
    root = Path(__file__).resolve().parents[2]
    out = subprocess.run(
        [sys.executable, "-c", PRINT_DIGEST],
        env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    digest = hashlib.sha256()
    for text in TEXTS:
        digest.update(embed(text).tobytes() + router_features(text).tobytes())
        for other in TEXTS:
            digest.update(dedup_features(text, other).tobytes())
    assert out.stdout.strip() == digest.hexdigest()


def test_a_caller_may_change_what_it_got() -> None:
    embed(TEXTS[0])[:] = 0
    assert embed(TEXTS[0]).any()


def test_names_match_sizes() -> None:
    assert len(QUERY_FEATURE_NAMES) == len(set(QUERY_FEATURE_NAMES)) == HAND_FEATURES
    assert QUERY_FEATURES == QUERY_EMBEDDING + HAND_FEATURES
    assert len(PAIR_FEATURE_NAMES) == len(set(PAIR_FEATURE_NAMES)) == PAIR_FEATURES


def query_feature(name: str, text: str) -> float:
    return float(router_features(text)[QUERY_EMBEDDING + QUERY_FEATURE_NAMES.index(name)])


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [
        ("anaphora", "上次说的那家怎么样", "杭州有什么好吃"),
        ("anaphora", "book it for two", "weather in Paris"),
        ("time", "明天有会吗", "我喜欢辣吗"),
        ("time", "what is on Monday", "what is my name"),
        ("preference", "我喜欢吃什么", "明天几点开会"),
        ("preference", "what food do I like", "my phone number"),
        ("attribute", "我叫什么名字", "聊了什么"),
        ("attribute", "what is my address", "tell me more"),
        ("last_time", "上次提到的餐厅", "今天的餐厅"),
        ("last_time", "the place we discussed", "a place to eat"),
        ("when_asked", "什么时候出发", "出发了"),
        ("when_asked", "when do I leave", "I leave"),
        ("where_asked", "我在哪里停的车", "我停车了"),
        ("person_asked", "who joined me", "I went alone"),
        ("sentiment", "那天我很难过", "那天我开会"),
        ("future", "下周的安排", "昨天的会"),
        ("past", "what did I buy", "apples"),
        ("change", "会议取消了吗", "会议开始"),
        ("wording", "老师的原话是什么", "老师几点来"),
        ("wording", "what were her exact words", "when does she arrive"),
        ("told", "我跟你说过的那家店", "那家店几点开门"),
        ("reason", "why did we cancel", "what is my name"),
        ("now", "我现在住哪", "我住哪"),
        ("course", "how did the trip turn out", "my phone number"),
        ("quantity", "how many trips were there", "where do I live"),
        ("own", "我的电话", "他的电话"),
        ("yes_no", "is the party still on", "what is on"),
    ],
)
def test_hand_made_features_see_their_words(name: str, yes: str, no: str) -> None:
    assert query_feature(name, yes) == 1.0
    assert query_feature(name, no) == 0.0


def test_length_language_and_entities() -> None:
    assert query_feature("cjk_share", "今天") == 1.0
    assert query_feature("cjk_share", "today") == 0.0
    assert query_feature("length", "字" * 50) == 1.0
    assert query_feature("entities", "ask Maria about Lisbon and Porto") == 0.75


def similarity(a: str, b: str) -> float:
    return float(embed(a) @ embed(b))


def test_near_texts_are_nearer_than_far_ones() -> None:
    assert (
        similarity("我喜欢喝拿铁咖啡", "我爱喝拿铁")
        > similarity("我喜欢喝拿铁咖啡", "明天去北京出差") + 0.3
    )
    assert similarity("booked a table at Luigi's", "the booking at Luigi's") > 0.3 + similarity(
        "booked a table at Luigi's", "my sister has a cat"
    )


def pair(a: str, b: str) -> dict[str, float]:
    return dict(zip(PAIR_FEATURE_NAMES, dedup_features(a, b).tolist(), strict=True))


def test_what_sets_two_texts_apart_shows() -> None:
    same = pair("周五三点开会", "周五三点开会")
    assert same["equal_text"] == 1
    assert same["unit_jaccard"] == same["order_similarity"] == 1
    assert same["more_left"] == same["numbers_conflict"] == same["one_swap"] == 0
    assert pair("周五 3 点开会", "周五 4 点开会")["numbers_conflict"] == 1
    assert pair("开会", "周五开会")["times_added"] == 1
    assert pair("明天开会", "后天开会")["times_conflict"] == 1
    assert pair("妈妈喜欢花", "爸爸喜欢花")["people_conflict"] == 1
    assert pair("they sell bikes", "they buy bikes")["opposites"] == 1
    assert pair("Tom plays chess", "Tom plays tennis")["one_swap"] == 1
    assert pair("我吃香菜", "我不吃香菜")["negation_differs"] > 0
    assert pair("I eat fish", "I don't eat fish")["negation_differs"] > 0
    assert pair("cats chase dogs", "dogs chase cats")["only_order_differs"] == 1
    assert pair("会议取消", "会议")["change_differs"] > 0
    assert pair("hello", "你好")["same_language"] == 0
    contained = pair("likes tea", "she likes green tea from Hangzhou")
    assert contained["nothing_left"] == contained["lighter_contained"] == 1
    assert contained["heavier_contained"] < 1 == contained["one_adds"]


def test_one_meaning_in_other_words_is_shared() -> None:
    assert pair("礼拜三下午三点", "周三下午3点")["content_dice"] == 1
    assert pair("see you on Mon", "see you on Monday")["content_dice"] == 1
    assert pair("我喜欢寿司", "I like 寿司")["content_dice"] == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("房贷四千三", "#4300"),
        ("一百零五", "#105"),
        ("十二楼", "#12"),
        ("两万", "#20000"),
        ("二零二六", "#2026"),
        ("0317", "#317"),
        ("twelve eggs", "#12"),
    ],
)
def test_numerals_are_read(text: str, found: str) -> None:
    assert found in concepts(tokens(text))


def test_features_carry_signal_on_lcqmc(research_data: Path) -> None:
    path = research_data / "pairs" / "lcqmc_zh.tsv"
    if not path.is_file():
        pytest.skip("no LCQMC pairs")
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()[:3000]]
    rows = [row for row in rows if len(row) == 3]
    features = np.array([dedup_features(a, b) for a, b, _ in rows])
    labels = np.array([int(label) for _, _, label in rows])
    scores = {
        name: auc(features[:, index], labels) for index, name in enumerate(PAIR_FEATURE_NAMES)
    }
    assert max(scores.values()) > 0.75, scores
    assert scores["content_dice"] > 0.75


@pytest.mark.parametrize(
    ("a", "b", "name", "value"),
    [
        ("怎么去机场", "为什么去机场", "questions_conflict", 1),
        ("怎么去机场", "如何去机场", "questions_conflict", 0),
        ("好看的电影推荐", "推荐好看的电影", "only_order_differs", 1),
        ("你是不是在家", "你在家吗", "negation_differs", 0),
        ("这家店不错", "这家店很好", "negation_differs", 0),
        ("看完《活着》", "看完《围城》", "titles_conflict", 1),
        ("皮肤黑的人穿什么", "皮肤黄的人穿什么", "one_swap", 1),
        ("往东走", "往西走", "opposites", 1),
        ("书在家", "书在家里，桌子右边", "added_at_end", 1),
        ("跟小李吃饭", "明晚跟小李吃饭", "added_at_start", 1),
        ("茶", "我每天喝三杯茶", "numbers_added", 1),
        ("我叫 Anna", "我叫 Berta", "latin_conflict", 1),
    ],
)
def test_features_of_a_pair_see_what_differs(a: str, b: str, name: str, value: float) -> None:
    assert pair(a, b)[name] == value


def test_times_and_people_are_no_other_words_of_the_lexicon() -> None:
    """Tea is no time and a picture no person, though their names begin alike."""
    assert pair("I like tea", "I like coffee")["times_conflict"] == 0
    assert pair("one picture", "one phone")["people_conflict"] == 0


def test_a_lone_article_is_no_number() -> None:
    assert pair("看一下电影", "看看电影")["numbers_added"] == 0
    assert pair("一号开会", "二号开会")["numbers_conflict"] == 1
