"""A retrieval policy from the fleet's histograms to the layers that a phone searches."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import update

from cloud.storage.tables import releases
from cloud.training.corpora import load_corpus
from cloud.training.policy import carried, tuned_policy
from cloud.training.usage import PHONES as PHONES_KEY
from cloud.training.usage import carried_forward
from device.memory.records import Layer
from device.recall import Router, Score
from device.recall.floors import Floors
from device.sync.adoption import Shelf
from privacy.estimation import estimate_histograms
from privacy.streams import USAGE_DIMENSION, USAGE_HISTOGRAMS
from protocol.identity import open_envelope
from protocol.messages import MAX_MANIFEST
from protocol.models import ROUTER, head_dimension
from protocol.packing import unpack_map
from protocol.policy import FLOOR_NAMES, HIGHEST_FLOOR, LOWEST_FLOOR
from protocol.release import Manifest, open_manifest
from tests.cloud.training.conftest import House
from tests.device.sync.conftest import Vault

NOW = 1_000_000.0
PHONES = 20_000
RAW_HEAVY = {"top_layer": (0.05, 0.1, 0.8, 0.05), "language": (0.45, 0.45, 0.05, 0.05)}
"""What the fleet asks: nearly all of it for wording, reasons and stories."""
PASSED = {"passed": 1.0, "accuracy": 0.9, "exact": 0.9}
PASSED |= {"accuracy_templates": 0.9, "accuracy_written": 0.9}
FIRST_FIELDS = {
    "model", "version", "parent", "sha256", "full", "differences", "metrics", "epsilon", "delta",
    "created", "expires", "feature_version",
}  # fmt: skip
"""What phones of protocol version 1 read in a manifest; anything else they refuse."""


def usage(phones: int, sigma: float) -> dict[str, object]:
    """A usage round's estimates, with noise of `sigma` devices and none drawn."""
    shares = np.concatenate(
        [RAW_HEAVY.get(one.name, (1.0,) + (0.0,) * (len(one.bins) - 1)) for one in USAGE_HISTOGRAMS]
    )
    units = np.rint(shares * phones * 10).astype(np.int64)
    assert len(units) == USAGE_DIMENSION
    found = estimate_histograms(units, phones, 10, sigma)
    return {"histograms": [one._asdict() for one in found]}


def pass_by_hand(house: House, candidate: int) -> None:
    """What the evaluator thinks is not the matter here."""
    database = house.shelf().database
    with database.write() as connection:
        here = releases.c.id == candidate
        connection.execute(update(releases).where(here).values(metrics=PASSED))


def step_after(house: House, phones: int, sigma: float) -> int:
    """The second router: its candidate, trained after a usage round of that fleet."""
    first = house.trainer("router").bootstrap(NOW)
    pass_by_hand(house, first)
    assert house.publisher().publish(first, NOW) == 1
    house.aggregate(
        np.zeros(USAGE_DIMENSION),
        task="usage",
        n=phones,
        estimates=usage(phones, sigma),
    )
    mean = np.full(head_dimension(ROUTER), 2.0 / 32.0)
    clip = float(np.linalg.norm(mean))
    number = house.aggregate(mean, task="router", n=phones, clip=clip)
    candidate = house.trainer("router").federated_step([number], NOW)
    assert candidate is not None
    return candidate


@pytest.fixture
def tuned(house: House) -> int:
    """A house whose second router came with a policy; its release id."""
    candidate = step_after(house, PHONES, sigma=19.0)
    pass_by_hand(house, candidate)
    assert house.publisher().publish(candidate, NOW + 1.0) == 2
    return candidate


async def test_a_phone_searches_what_the_fleets_use_says(house: House, tuned: int) -> None:
    shelf = house.shelf()
    release = shelf.get(tuned)
    assert release.policy
    assert set(release.policy) == set(FLOOR_NAMES.values())
    assert all(LOWEST_FLOOR <= floor <= HIGHEST_FLOOR for floor in release.policy.values())
    assert shelf.get(1).policy in ({}, None), "nothing was known when the first was trained"

    publisher, vault = house.publisher(), Vault()
    phone = Shelf(vault.log("releases"))
    manifest = open_manifest(publisher.newest()[0][2], house.public)
    assert manifest.policy == release.policy
    offer = phone.offer(publisher.newest()[0][2], cloud_key=house.public, now=NOW)
    assert offer is not None
    blob = publisher.blob("router", 2, offer.base)
    assert blob is not None
    outcome = await phone.consider(offer, blob, probe=lambda model, weights: Score(1.0, 0.0))
    assert outcome.adopted
    floors = Floors.in_force(None, Shelf(vault.log("releases")).policy("router"))
    assert floors.source == "release"
    router = Router(phone.adopted("router"), floors=floors)
    route = router.route("我养的花", NOW)
    asked = {layer for layer in Layer if route.weights[layer] >= release.policy[f"floor_{layer}"]}
    assert set(route.layers) == (asked or set(Layer))


def test_it_is_the_policy_of_the_candidates_own_parameters(house: House) -> None:
    candidate = step_after(house, PHONES, sigma=19.0)
    release = house.shelf().get(candidate)
    known = carried_forward([usage(PHONES, 19.0) | {PHONES_KEY: PHONES}])
    parameters = house.shelf().parameters_of(release)
    assert release.policy == carried(tuned_policy(parameters, load_corpus("router"), known))
    assert release.policy != {}


@pytest.mark.parametrize(("phones", "sigma"), [(45, 3.1), (500, 29.0)])
def test_few_phones_or_demo_noise_carry_no_policy(house: House, phones: int, sigma: float) -> None:
    assert house.shelf().get(step_after(house, phones, sigma)).policy == {}


def test_phones_of_the_first_protocol_are_sent_none(house: House, tuned: int) -> None:
    showing = house.publisher().showing()
    (model, version, blob) = showing.first[0]
    assert (model, version) == ("router", 2)
    payload = open_envelope(blob, house.public, purpose="release")
    assert set(unpack_map(payload, max_size=MAX_MANIFEST)) == FIRST_FIELDS
    newest = open_manifest(showing.newest[0][2], house.public)
    assert newest.policy
    assert open_manifest(blob, house.public) == newest.model_copy(update={"policy": {}})
    assert FIRST_FIELDS | {"policy"} == set(Manifest.model_fields)


def test_a_renewed_manifest_keeps_its_policy(house: House, tuned: int) -> None:
    publisher = house.publisher()
    before = open_manifest(publisher.newest()[0][2], house.public)
    assert publisher.renew(NOW + 85 * 86_400.0) == ["router"]
    after = open_manifest(publisher.newest()[0][2], house.public)
    assert after.expires > before.expires
    assert after.policy == before.policy != {}
