"""A desk of few events looks through them, one of many has an index: nobody can tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.memory import desk
from device.memory.desk import Desk
from device.memory.records import EventState, Item, ItemKind

WORDS = ("dentist", "concert", "牙医", "swimming", "Ruth", "berlin", "体检", "tomorrow")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


def event(number: int, text: str, state: EventState = EventState.ACTIVE) -> Item:
    at = float(number)
    return Item(f"mem:{number}", ItemKind.EVENT, text, at, at, (f"raw:{number}",), state=state)


@given(
    st.lists(st.tuples(st.integers(0, 9), TEXTS), max_size=20),
    st.sets(st.integers(0, 9), max_size=5),
    TEXTS,
)
def test_events_are_found_alike_with_and_without_the_index(
    told: list[tuple[int, str]], ended: set[int], asked: str
) -> None:
    texts = dict(told)
    found = []
    for few in (0, 3, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(desk, "FEW_EVENTS", few)
            table = Desk(event(number, texts[number]) for number, _ in told)
            for number in sorted(ended & texts.keys()):
                table.update(event(number, texts[number], EventState.CANCELLED))
            found.append(table.events_like(asked))
            assert {one.id for one in table.active_events()} == {
                f"mem:{number}" for number in texts.keys() - ended
            }
    assert found[0] == found[1] == found[2]
    assert all(one.state is EventState.ACTIVE for _, one in found[0])
