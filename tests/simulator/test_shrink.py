import pytest

from simulator.faults.plan import FaultPlan
from simulator.scenario import Scenario
from simulator.shrink import shrink

BIG = Scenario(phones=20, days=7, faults=FaultPlan.storm())


def needs_two_phones_three_days_and_kills(scenario: Scenario) -> bool:
    return scenario.phones >= 2 and scenario.days >= 3 and scenario.faults.kill.rate > 0


def test_only_what_the_failure_needs_is_left() -> None:
    found, used = shrink(BIG, needs_two_phones_three_days_and_kills)
    assert (found.phones, found.days) == (2, 3)
    assert [name for name, fault in found.faults.items() if fault.rate] == ["kill"]
    assert found.seed == BIG.seed
    assert used < 200


def test_a_world_that_holds_cannot_be_shrunk() -> None:
    with pytest.raises(ValueError, match="does not fail"):
        shrink(BIG, lambda _: False)


def test_it_stops_after_so_many_tries_with_what_it_has() -> None:
    tried: list[Scenario] = []

    def fails(scenario: Scenario) -> bool:
        tried.append(scenario)
        return needs_two_phones_three_days_and_kills(scenario)

    found, used = shrink(BIG, fails, tries=5)
    assert used == len(tried) == 5
    assert needs_two_phones_three_days_and_kills(found)
