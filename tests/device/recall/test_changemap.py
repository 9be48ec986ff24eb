from __future__ import annotations

from device.memory.records import Item, ItemKind
from device.recall.changemap import ChangeMap


def record(number: int, action: str, *turns: str) -> Item:
    return Item(f"mem:{number}", ItemKind.CHANGE, "changed", 0.0, 0.0, turns, action=action)


def test_a_turn_leads_to_the_records_about_it_until_they_are_forgotten() -> None:
    changes = ChangeMap()
    changes.put([record(1, "moved", "raw:1", "raw:2"), record(2, "completed", "raw:1", "raw:3")])
    assert changes.about(["raw:1", "raw:2", "raw:9"]) == ["mem:1", "mem:2"]
    changes.drop(["mem:1", "mem:7"])
    assert changes.about(["raw:1", "raw:2"]) == ["mem:2"]
    assert not changes.outdated("raw:1")


def test_what_a_later_turn_took_back_is_outdated_and_that_turn_is_not() -> None:
    changes = ChangeMap()
    changes.put(
        [record(1, "cancelled", "raw:1", "raw:2"), record(2, "completed", "raw:5", "raw:6")]
    )
    assert changes.outdated("raw:1")
    assert not changes.outdated("raw:2")
    assert not changes.outdated("raw:5")


def test_items_that_are_no_change_records_are_passed_over() -> None:
    changes = ChangeMap()
    changes.put([Item("mem:1", ItemKind.EVENT, "trip", 0.0, 0.0, ("raw:1",))])
    assert changes.about(["raw:1"]) == []
