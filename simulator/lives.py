"""Each phone's part in a scenario: who owns it, where they live, and when its window is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from simulator.availability import Model, PhoneAvailability, draw_availability
from simulator.corpus import CorpusUnreadable, load_corpus
from simulator.episodes import EpisodesUnreadable, has_agent, load_episodes, with_agent
from simulator.fidelity import played
from simulator.habits import HabitName, habit_of, rhythms_of
from simulator.mixing import mixed_story
from simulator.people import ZONES, Person, person_of
from simulator.randomness import generator
from simulator.scenario import Scenario
from simulator.traces import PhoneTrace, TraceUnreadable, load_traces

__all__ = ["UNREADABLE", "Life", "Lives"]

UNREADABLE = (CorpusUnreadable, EpisodesUnreadable, TraceUnreadable)
"""What a file that a scenario names may be; each says in one line where and why."""


@dataclass(frozen=True)
class Life:
    """One phone's owner and conditions."""

    person: Person
    truth: PhoneAvailability
    utc_offset: float
    """Seconds by which the owner's clocks are ahead of UTC when the world begins."""
    habit: HabitName | None
    """None for a phone whose trace was read from a file."""
    agent: bool
    """Whether a phone agent works apps on it."""


class Lives:
    """All phones of a world; everything follows from (seed, scenario)."""

    def __init__(
        self, scenario: Scenario, *, seed: int, start: float, days: int, data: Path | None
    ) -> None:
        """Read what the scenario names.

        Raises:
            CorpusUnreadable, EpisodesUnreadable, TraceUnreadable: a file cannot be used.
        """
        self._scenario, self._seed, self._start, self._days = scenario, seed, start, days
        self._stories = load_corpus(data)
        agents = scenario.agents
        self._episodes = load_episodes(agents.episodes) if agents.share else []
        self._traces: Sequence[PhoneTrace] = ()
        if isinstance(scenario.availability, Path):
            self._traces = load_traces(scenario.availability)
        model: Model = "weekly" if scenario.availability == "fitted" else "daily"
        self._rhythms = rhythms_of(scenario.population, model, balanced=scenario.balanced)
        self._zones = {**ZONES, **scenario.zones}

    def of(self, phone: int) -> Life:
        """The life of phone number `phone`."""
        trace = self._traces[phone % len(self._traces)] if self._traces else None
        person, agent = self._person(phone, trace.zone if trace else "")
        person = played(self._scenario.fidelity, person, phone)
        local = datetime.fromtimestamp(self._start, ZoneInfo(person.zone)).utcoffset()
        assert local is not None
        offset = local.total_seconds()
        if trace is not None:
            truth = trace.replay(start=self._start, days=self._days, utc_offset=offset)
            return Life(person, truth, offset, None, agent)
        habit = habit_of(self._scenario.population, self._seed, phone)
        truth = draw_availability(
            generator(self._seed, "availability", phone),
            start=self._start,
            days=self._days,
            utc_offset=offset,
            rhythms=self._rhythms[habit],
        )
        return Life(person, truth, offset, habit, agent)

    def _person(self, phone: int, zone: str) -> tuple[Person, bool]:
        """The owner, in `zone` where the trace names one, and whether they have an agent."""
        mix, agents = self._scenario.mix, self._scenario.agents
        stories = self._stories
        if mix.alpha is not None:
            stories = [
                mixed_story(
                    stories, phone, seed=self._seed, alpha=mix.alpha, dialogues=mix.dialogues
                )
            ]
        zones = (
            dict.fromkeys({story.language for story in stories}, (zone,)) if zone else self._zones
        )
        person = person_of(
            stories,
            phone,
            seed=self._seed,
            start=self._start,
            days=self._days,
            zones=zones,
            whole=mix.alpha is not None,
        )
        if not has_agent(self._seed, phone, agents.share):
            return person, False
        person = with_agent(
            person,
            self._episodes,
            phone,
            seed=self._seed,
            start=self._start,
            days=self._days,
            runs_a_day=agents.runs_a_day,
        )
        return person, True
