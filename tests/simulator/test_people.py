import json
from pathlib import Path

import pytest

from simulator.corpus import CorpusUnreadable, load_corpus
from simulator.evidence import find_evidence
from simulator.people import Ask, Compare, Person, Say, person_of

START = 1_772_409_600.0
DAYS = 3
SEED = 11


def persons(count: int, path: Path | None = None) -> list[Person]:
    stories = load_corpus(path)
    return [person_of(stories, i, seed=SEED, start=START, days=DAYS) for i in range(count)]


def says(person: Person) -> list[Say]:
    return [deed for deed in person.deeds if isinstance(deed, Say)]


def test_the_shipped_sample_is_the_default() -> None:
    stories = load_corpus(None)
    assert sum(len(story.lines) for story in stories) >= 300
    assert {story.language for story in stories} == {"zh", "en"}
    assert all(story.questions for story in stories)


def test_everything_happens_within_the_days_and_in_order() -> None:
    for person in persons(30):
        times = [deed.at for deed in person.deeds]
        assert times == sorted(times)
        assert times[0] >= START
        assert times[-1] < START + DAYS * 86400


def test_a_first_phone_tells_its_story_whole_and_in_order() -> None:
    stories = load_corpus(None)
    for index, person in enumerate(persons(len(stories))):
        told = [say.line for say in says(person) if say.line != "canary"]
        assert told == [line.id for line in stories[index].lines][: len(told)]
        assert len(told) >= 0.8 * len(stories[index].lines)


def test_hours_of_the_day_are_kept() -> None:
    """Nobody who never talks at four in the morning is made to."""
    from datetime import datetime
    from zoneinfo import ZoneInfo

    stories = load_corpus(None)
    for index, person in enumerate(persons(len(stories))):
        original = {line.at.hour for line in stories[index].lines}
        zone = ZoneInfo(person.zone)
        retold = [datetime.fromtimestamp(say.at, zone).hour for say in says(person)]
        assert sum(hour in original for hour in retold) / len(retold) > 0.7


def test_questions_follow_their_evidence() -> None:
    for person in persons(24):
        told = {say.line: say.at for say in says(person)}
        for deed in person.deeds:
            if isinstance(deed, Ask):
                assert all(told[line] < deed.at for line in deed.evidence)
            if isinstance(deed, Compare):
                assert max(told[deed.first], told[deed.second]) < deed.at


def test_a_day_brings_several_questions() -> None:
    counts = [sum(isinstance(d, Ask) for d in person.deeds) for person in persons(24)]
    assert 4 * DAYS <= sum(counts) / len(counts) <= 12 * DAYS


def test_verdicts_of_each_kind_occur() -> None:
    verdicts = {d.verdict for person in persons(24) for d in person.deeds if isinstance(d, Compare)}
    assert verdicts == {"duplicate", "merge", "independent"}


def test_phones_of_one_person_differ() -> None:
    stories = load_corpus(None)
    many = persons(3 * len(stories))
    first, second, third = (many[i * len(stories)] for i in range(3))
    texts = [{say.text for say in says(person)} for person in (first, second, third)]
    assert texts[0] != texts[1] != texts[2]
    assert len({person.canary for person in many}) == len(many)


def test_each_canary_is_said_once() -> None:
    for person in persons(20):
        assert sum(person.canary in say.text for say in says(person)) == 1


def test_a_person_is_drawn_from_the_seed_alone() -> None:
    assert persons(9)[8] == persons(9)[8]
    stories = load_corpus(None)
    other = person_of(stories, 8, seed=SEED + 1, start=START, days=DAYS)
    assert other != persons(9)[8]


@pytest.mark.parametrize("name", ["locomo", "memorybank"])
def test_research_sets_load(shared_data: Path, name: str) -> None:
    stories = load_corpus(shared_data / name)
    assert len(stories) >= 6
    for story in stories:
        known = {line.id for line in story.lines}
        assert all(set(q.evidence) <= known for q in story.questions)
    assert sum(bool(story.questions) for story in stories) >= 6  # a few MemoryBank users ask none
    assert len({story.person for story in stories}) == len(stories)
    made = persons(12, shared_data / name)
    assert sum(isinstance(d, Ask) for person in made for d in person.deeds) > 60


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", "{"),
        ("b.json", '[{"conversation": {}}]'),
        ("c.jsonl", '{"at": "yesterday", "speaker": "x", "text": "y"}'),
        ("d.jsonl", ""),
        ("e.json", '{"x": 1}'),
    ],
)
def test_unusable_data_is_one_clear_line(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(CorpusUnreadable) as caught:
        load_corpus(tmp_path / name)
    assert "\n" not in str(caught.value)
    with pytest.raises(CorpusUnreadable, match="does not exist"):
        load_corpus(tmp_path / "absent")


def test_our_own_format_needs_no_questions(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    turn = {"at": "2026-03-02T08:15:00+08:00", "speaker": "user", "text": "我叫小王"}
    file.write_text(json.dumps(turn, ensure_ascii=False), encoding="utf-8")
    (story,) = load_corpus(file)
    assert story.language == "zh"
    person = person_of([story], 0, seed=SEED, start=START, days=1)
    assert person.deeds


def test_evidence_is_found_by_rare_words() -> None:
    texts = ["我去了绿禾公园，看到了樱花", "今天下雨了", "你好", "我们聊聊电影吧"]
    assert find_evidence("我在绿禾公园看到了什么？", texts)[0] == 0
    assert find_evidence("zebra", texts) == []
