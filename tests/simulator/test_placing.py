"""Where a world is played."""

from __future__ import annotations

import pytest

from simulator.placing import BIG, Placing, PlacingRefused, place


def chosen(placing: Placing) -> tuple[str, int]:
    return placing.runtime, placing.hosts


def test_a_big_world_takes_a_host_for_every_core() -> None:
    assert chosen(place("auto", None, phone_days=BIG, cores=2, ray=True)) == ("ray", 2)
    said = place("auto", None, phone_days=7_000, cores=2, ray=True).said
    assert said == "2 hosts on Ray: 7,000 phone-days on 2 cores"


@pytest.mark.parametrize(
    ("phone_days", "cores", "ray", "said"),
    [
        (BIG - 1, 8, True, "a small world"),
        (BIG, 1, True, "one core"),
        (BIG, 8, False, "Ray is not installed"),
    ],
)
def test_else_it_stays_in_this_process_and_says_why(
    phone_days: int, cores: int, ray: bool, said: str
) -> None:
    placing = place("auto", None, phone_days=phone_days, cores=cores, ray=ray)
    assert chosen(placing) == ("inproc", 1)
    assert placing.said == f"1 host in this process: {said}"


def test_what_is_asked_for_holds() -> None:
    assert chosen(place("3", None, phone_days=10**6, cores=2, ray=True)) == ("inproc", 3)
    assert chosen(place("3", "ray", phone_days=1, cores=2, ray=True)) == ("ray", 3)
    assert chosen(place("auto", "ray", phone_days=1, cores=2, ray=True)) == ("ray", 2)
    assert chosen(place("auto", "inproc", phone_days=10**6, cores=2, ray=True)) == ("inproc", 1)


@pytest.mark.parametrize("hosts", ["0", "257", "-1", "many", ""])
def test_hosts_that_cannot_be_had(hosts: str) -> None:
    with pytest.raises(PlacingRefused, match="--hosts is a number from 1 to 256, or auto"):
        place(hosts, None, phone_days=1)
