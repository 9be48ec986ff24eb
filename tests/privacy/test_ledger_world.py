"""Everything at once, in any order: clocks, lies, backups, copies, cut tails, crashes, full disks.

The one promise: what really left for a stream, all copies together, stays within its cap in every
365 days of real time. In each session the clock or the cloud may lie, not both.
"""

from __future__ import annotations

import copy

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.privacy.parts import DAY, START, worst_year
from tests.privacy.phones import SMALL, Cloud, Disk, Memory, Phone, really_spent

SKEWS = (0.0, 0.0, 30.0, -30.0, 400.0, -400.0, 55.0, -55.0)
"""Days."""

SKEWED = st.sampled_from(SKEWS)
FAULTS = st.tuples(st.integers(0, 40), st.sampled_from(["before", "after", "full"]))


class World(RuleBasedStateMachine):
    """Phones that share one device key. ``silent_clouds``: whether receipts may be withheld."""

    silent_clouds = False

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.cloud = Cloud()
        self.phones = [Phone(Memory(), anchored=self.anchored())]
        self.backups: list[tuple[Memory, dict[bytes, object]]] = []
        self.spent: dict[int, int] = {}

    def anchored(self) -> bool:
        return True

    @rule(days=st.sampled_from([1, 5, 20, 21, 60, 150, 180, 364, 365, 366]))
    def time_passes(self, days: int) -> None:
        self.now += days * DAY

    @rule(which=st.integers(0, 9), skew=SKEWED, fault=FAULTS)
    def a_sync_with_a_wrong_clock(self, which: int, skew: float, fault: tuple[int, str]) -> None:
        self.sync(which, fault, skew=skew * DAY)

    @rule(which=st.integers(0, 9), lie=SKEWED, fault=FAULTS, silent=st.booleans())
    def a_sync_with_a_lying_cloud(
        self, which: int, lie: float, fault: tuple[int, str], silent: bool
    ) -> None:
        self.sync(which, fault, lie=lie * DAY, silent=silent and self.silent_clouds)

    @rule(which=st.integers(0, 9), times=st.integers(1, 6))
    def good_weeks(self, which: int, times: int) -> None:
        for _ in range(times):
            self.now += 20 * DAY
            self.sync(which, (0, "before"))

    @rule(which=st.integers(0, 9))
    def a_backup(self, which: int) -> None:
        phone = self.pick(which)
        assert isinstance(phone.cells, Memory)
        self.backups.append((copy.deepcopy(phone.cells), dict(phone.outbox)))

    @rule(which=st.integers(0, 9), backup=st.integers(0, 9), cut=st.integers(0, 5))
    def a_restore(self, which: int, backup: int, cut: int) -> None:
        """The folder comes back, perhaps cut; the anchor, outside it, stays as it is."""
        if not self.backups:
            return
        phone = self.pick(which)
        cells, outbox = self.backups[backup % len(self.backups)]
        assert isinstance(phone.cells, Memory)
        phone.end()
        payloads = list(cells.payloads)
        phone.cells.payloads = payloads[: len(payloads) - cut]
        phone.outbox = dict(outbox)  # type: ignore[arg-type]
        self.spent.pop(id(phone), None)

    @rule(which=st.integers(0, 9), cut=st.integers(1, 4))
    def the_tail_is_cut(self, which: int, cut: int) -> None:
        phone = self.pick(which)
        phone.end()
        assert isinstance(phone.cells, Memory)
        del phone.cells.payloads[-cut:]
        self.spent.pop(id(phone), None)

    def sync(
        self,
        which: int,
        fault: tuple[int, str],
        *,
        skew: float = 0.0,
        lie: float = 0.0,
        silent: bool = False,
    ) -> None:
        phone = self.pick(which)
        phone.disk = Disk(*fault)
        phone.end()
        phone.session(self.cloud, self.now, skew=skew, lie=lie, silent=silent)
        phone.disk = Disk()
        phone.end()
        spent = phone.ledger.spent().rho_units
        assert spent >= self.spent.get(id(phone), 0), "spending decreased"
        self.spent[id(phone)] = spent

    def pick(self, which: int) -> Phone:
        return self.phones[which % len(self.phones)]

    @invariant()
    def nothing_is_overspent(self) -> None:
        for stream in SMALL.streams:
            assert worst_year(really_spent(self.cloud, stream.name)) <= stream.yearly_cap


class AnchoredWorld(World):
    """One phone, restored and cut at will, whose anchor stays; the cloud may hide receipts."""

    silent_clouds = True


class CopiedWorld(World):
    """Any number of copies, with their anchors or without; the cloud tells what it has."""

    @initialize(anchored=st.booleans())
    def first_phone(self, anchored: bool) -> None:
        self.phones = [Phone(Memory(), anchored=anchored)]

    @rule(which=st.integers(0, 9), marked=st.booleans())
    def a_copy(self, which: int, marked: bool) -> None:
        if len(self.phones) == 4:
            return
        phone = self.pick(which)
        cells = copy.deepcopy(phone.cells)
        assert isinstance(cells, Memory)
        if not marked:
            cells.marked = None
        self.phones.append(Phone(cells, anchored=phone.anchored, outbox=dict(phone.outbox)))

    @invariant()
    def no_round_is_reported_twice(self) -> None:
        sent = [(each.task, each.round) for each in self.cloud.seen.values()]
        assert len(set(sent)) == len(sent)


def _settled(machine: type[World]) -> type:
    case: type = machine.TestCase
    case.settings = settings(  # type: ignore[attr-defined]
        max_examples=40, stateful_step_count=25, deadline=None, print_blob=True
    )
    return case


TestAnchoredWorld = _settled(AnchoredWorld)
TestCopiedWorld = _settled(CopiedWorld)
