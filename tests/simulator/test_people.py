import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from device.memory.records import Item, ItemKind
from device.phone import Machine, Phone
from device.settings import Settings
from device.vault import MemoryStorage, StaticProtector
from device.vault.anchor import MemoryAnchor
from simulator.corpus import CorpusUnreadable, Story, load_corpus
from simulator.episodes import EpisodesUnreadable, has_agent, load_episodes, with_agent
from simulator.evidence import find_evidence
from simulator.mixing import mixed_story, taste_of
from simulator.owner import Owner
from simulator.people import Ask, Compare, Do, Person, Say, person_of
from simulator.randomness import KeyedBits, generator
from simulator.senses import TrackConditions
from simulator.tracks import PhoneAvailability, Track
from simulator.virtual import VirtualClock, VirtualLoop

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


def mixed(phone: int, alpha: float, dialogues: int = 2, path: Path | None = None) -> Story:
    return mixed_story(load_corpus(path), phone, seed=SEED, alpha=alpha, dialogues=dialogues)


def test_a_small_alpha_gives_people_of_one_kind() -> None:
    stories = load_corpus(None)

    def largest(alpha: float) -> float:
        tastes = [taste_of(stories, i, seed=SEED, alpha=alpha) for i in range(200)]
        assert all(abs(sum(taste.shares) - 1.0) < 1e-9 for taste in tastes)
        return sum(max(taste.shares) for taste in tastes) / 200

    assert largest(0.05) > 0.9
    assert largest(100.0) < 0.6
    assert largest(1e-6) > 0.99, "also where every draw underflows"


def test_a_person_of_several_stories_tells_them_interwoven() -> None:
    story = mixed(4, alpha=100.0, dialogues=3)
    assert len(story.person.split(" + ")) == 3
    ids = [line.id for line in story.lines]
    assert len(set(ids)) == len(ids)
    owners = [session[0].session.split("/")[0] for session in story.sessions()]
    assert len(set(owners[: len(owners) // 2])) == 3, "not one after the other"
    repeats = {line.same_as for line in story.lines if line.same_as}
    assert all("/" in name for name in repeats)


def test_mixed_people_live_like_others_and_differ() -> None:
    people = []
    for phone in range(12):
        person = person_of(
            [mixed(phone, alpha=0.5)], phone, seed=SEED, start=START, days=DAYS, whole=True
        )
        told = {say.line: say.at for say in says(person)}
        asks = [deed for deed in person.deeds if isinstance(deed, Ask)]
        assert all(told[line] < ask.at for ask in asks for line in ask.evidence)
        people.append(person)
        assert sum(isinstance(deed, Ask) for deed in person.deeds) > 0
    assert len({tuple(say.text for say in says(person)) for person in people}) == 12


def test_a_person_of_more_stories_than_there_are_tells_all() -> None:
    assert len(mixed(0, alpha=1.0, dialogues=16).person.split(" + ")) == len(load_corpus(None))


def test_topics_are_the_files_the_stories_came_from(shared_data: Path) -> None:
    stories = load_corpus(shared_data / "memorybank")
    assert len({story.topic for story in stories}) > 1
    taste = taste_of(stories, 0, seed=SEED, alpha=0.1)
    assert {language for language, _ in taste.kinds} == {"zh", "en"}


def agent_person(phone: int = 0, path: Path | None = None, runs_a_day: float = 5.0) -> Person:
    (person,) = persons(phone + 1)[-1:]
    return with_agent(
        person,
        load_episodes(path),
        phone,
        seed=SEED,
        start=START,
        days=DAYS,
        runs_a_day=runs_a_day,
    )


def test_an_agent_works_within_the_days_while_its_owner_is_awake() -> None:
    person = agent_person()
    runs = [deed for deed in person.deeds if isinstance(deed, Do)]
    assert 5 <= len(runs) <= 35
    times = [deed.at for deed in person.deeds]
    assert times == sorted(times)
    for deed in runs:
        assert START <= deed.at < START + DAYS * 86400
        assert deed.run.started < deed.at
        assert all(deed.run.started <= step.at <= deed.at for step in deed.run.steps)
        assert 8 <= datetime.fromtimestamp(deed.at, ZoneInfo(person.zone)).hour <= 22
        assert any("\u4e00" <= sign <= "\u9fff" for sign in deed.run.goal), "Lin speaks Chinese"
    assert sum(person.canary in deed.run.goal for deed in runs) == 1


def test_the_share_of_phones_with_an_agent_is_the_one_asked_for() -> None:
    count = sum(has_agent(SEED, phone, 0.3) for phone in range(1_000))
    assert 240 < count < 360
    assert not any(has_agent(SEED, phone, 0.0) for phone in range(100))


@pytest.mark.parametrize("name", ["android_control_0.jsonl", "ex_mem.json"])
def test_recorded_episodes_are_replayed(shared_data: Path, name: str) -> None:
    person = agent_person(1, shared_data / "gui" / name)
    assert sum(isinstance(deed, Do) for deed in person.deeds) > 3
    with pytest.raises(EpisodesUnreadable):
        load_episodes(shared_data / "gui" / "app_state_summary.json")


def test_a_phone_learns_from_its_agent_s_runs() -> None:
    """The owner's deeds, done on the real phone: facts and habits come of them."""
    person = agent_person(0, runs_a_day=12.0)
    runs = tuple(deed for deed in person.deeds if isinstance(deed, Do))
    loop = VirtualLoop()
    clock = VirtualClock(loop, START)
    machine = Machine(
        clock=clock,
        bits=KeyedBits(SEED, "agent"),
        storage=MemoryStorage(),
        protector=StaticProtector(b"k" * 32),
        conditions=TrackConditions(
            PhoneAvailability(Track(()), Track(()), Track(())), clock, START
        ),
        rng=generator(SEED, "agent"),
        anchor=MemoryAnchor(),
    )
    owner = Owner(replace(person, deeds=runs), clock, patient=False)

    async def live() -> dict[str, list[Item]]:
        phone = await Phone.open(machine, Settings(timezone=person.zone))
        await owner.use(phone)
        kept = {kind.value: await phone.items(kind) for kind in ItemKind}
        await phone.close()
        return kept

    kept = loop.run_until_complete(live())
    loop.close()
    assert owner.runs == len(runs)
    assert clock.now() >= runs[-1].at
    assert 0 < len(kept["run"]) <= len(runs)
    assert kept["pattern"], "how this person goes about such tasks"
