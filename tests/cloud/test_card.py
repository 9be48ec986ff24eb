"""The model card: all that is known of a release, beside the version before, and no one's data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from cloud.actors.publisher import LIFETIME
from cloud.releases.card import FORMAT, card_of
from cloud.releases.card_page import markdown
from cloud.storage.pins import pin
from cloud.storage.tables import aggregates, releases, rounds
from cloud.training.config import TRAINING
from cloud.transparency import public_page
from privacy import BUDGETS
from protocol.models.spec import DEDUP
from protocol.release import open_manifest
from tests.cloud.test_rollout import Service
from tests.cloud.world import DAY, START

UPDATES = BUDGETS["production"].terms("dedup")
DRAFT = {
    "corpus": {
        name: {"examples": 10, "units": 5, "languages": {"en": 4, "zh": 6}}
        for name in ("train", "templates", "written", "probes")
    },
    "evaluation": {
        "passed": True,
        "reason": "",
        "evaluated": START,
        "against": 1,
        "metrics": {"accuracy": {"value": 0.91, "before": 0.9}, "loss": {"value": 0.4}},
        "slices": {"probes/zh": {"examples": 66, "accuracy": 0.8123, "before": 0.7987}},
    },
}


@pytest.fixture
def service(each_database: str, tmp_path: Path) -> Iterator[Service]:
    """A small fleet, whose releases go to everyone, under the production budget."""
    made = Service(tmp_path, 50)
    with made.database.write() as connection:
        pin(connection, "budget", b"production", START)
        pin(connection, "cloud", made.publisher._key.public, START)
    assert made.publish(1, START) == 1
    yield made
    made.close()


def a_round(service: Service, number: int, task: str = "dedup", n: int = 1_000) -> int:
    """A summed round of the model; its aggregate's id."""
    common = {"task": task, "round": number, "scale": UPDATES.scale, "clip": UPDATES.clip}
    asked = {"status": "closed", "dimension": 10, "n_min": 100, "budget": "production"}
    asked |= {"opens": START, "closes": START + DAY, "descriptor": b"", "sigma": UPDATES.sigma}
    summed = {"n": n, "total": b"", "estimates": {"noise_std": 0.5}, "sigma": UPDATES.sigma}
    with service.database.write() as connection:
        connection.execute(insert(rounds).values(base_version=1, **common, **asked))
        done = connection.execute(
            insert(aggregates).values(base_version=1, created=START, **common, **summed)
        )
    assert done.inserted_primary_key is not None
    return int(done.inserted_primary_key[0])


def candidate(service: Service, version: int, **values: Any) -> int:
    made = service.candidate(version)
    with service.database.write() as connection:
        connection.execute(
            update(releases).where(releases.c.id == made).values(**{"card": DRAFT} | values)
        )
    return made


def card(service: Service, version: int = 0) -> dict[str, Any]:
    with service.database.read() as connection:
        found = card_of(connection, "dedup", version)
    assert found is not None
    return found


def test_a_release_says_what_it_was_made_of_and_what_that_cost(service: Service) -> None:
    a_round(service, 1, n=800)
    newest = a_round(service, 2, n=1_200)
    a_round(service, 3)
    metrics = {"passed": 1.0, "accuracy": 0.91, "central_steps": 140.0, "federated_rounds": 2.0}
    made = candidate(service, 2, aggregate=newest, metrics=metrics)
    assert service.publisher.publish(made, START + DAY) == 2
    found = card(service)
    assert (found["format"], found["version"], found["parent"]) == (FORMAT, 2, 1)
    assert (found["status"], found["parameters"]) == ("published", DEDUP.parameter_count)
    assert found["expires"] == START + DAY + LIFETIME
    phones = found["data"]["phones"]
    assert (phones["rounds"], phones["reports"]) == (2, 2_000), "the third came too late"
    assert [one["round"] for one in phones["newest"]] == [2, 1]
    central, charged = found["privacy"]["central"], found["privacy"]["phones"]
    assert (central["epsilon"], central["delta"]) == (1.0, 1e-6)
    assert central["unit"] == TRAINING["dedup"].public_unit
    assert (charged["budget"], charged["rounds"], charged["sigma"]) == (
        "production",
        2,
        UPDATES.sigma,
    )
    one = BUDGETS["production"].guarantee("dedup").per_report
    year = BUDGETS["production"].guarantee("dedup").year
    assert one < charged["epsilon"] < year
    assert found["training"]["central_steps"] == 140
    assert found["training"]["federated_rounds"] == 2.0
    assert found["data"]["corpus"] == DRAFT["corpus"]
    assert found["evaluation"] == DRAFT["evaluation"]


def test_its_sizes_are_those_of_the_manifest(service: Service) -> None:
    for version in (2, 3):
        service.publisher.publish(candidate(service, version), START + version)
    with service.database.read() as connection:
        row = connection.execute(select(releases).where(releases.c.version == 3)).one()
    manifest = open_manifest(row.manifest, service.publisher._key.public)
    sizes = card(service, 3)["sizes"]
    assert sizes["full"] == manifest.full.size
    assert sizes["differences"] == {
        str(base): info.size for base, info in manifest.differences.items()
    }
    assert set(sizes["differences"]) == {"1", "2"}


def test_what_is_renewed_says_so(service: Service) -> None:
    late = START + 0.9 * LIFETIME
    assert service.publisher.renew(late) == ["dedup"]
    assert card(service)["expires"] == late + LIFETIME


def test_a_candidate_shows_what_was_measured_before_it_is_approved(service: Service) -> None:
    candidate(service, 2)
    found = card(service, 2)
    assert (found["status"], found["evaluation"]["against"]) == ("candidate", 1)
    assert "format" not in found
    page = markdown(found)
    assert "Judged against version 1: passed the gate." in page
    assert "## Privacy" not in page
    service.candidate(3)
    assert "Not judged yet." in markdown(card(service, 3))
    assert card(service)["version"] == 1, "what all may take, unless another is asked for"


def test_a_crash_while_publishing_leaves_no_card_of_a_release(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = candidate(service, 2)

    def crash(*_: object, **__: object) -> None:
        raise OSError("power went out")

    with monkeypatch.context() as patch:
        patch.setattr("cloud.releases.repository.Repository.sign", crash)
        with pytest.raises(OSError, match="power went out"):
            service.publisher.publish(made, START)
    assert "format" not in card(service, 2)
    assert service.publisher.publish(made, START) == 2
    assert "format" in card(service, 2)


def test_for_people_it_has_the_sections_of_a_model_card(service: Service) -> None:
    made = candidate(service, 2, aggregate=a_round(service, 1), policy={})
    service.publisher.publish(made, START)
    page = markdown(card(service))
    assert [line for line in page.splitlines() if line.startswith("#")] == [
        "# dedup 2",
        "## Intended use",
        "## Limits",
        "## Metrics",
        "## Data",
        "## Privacy",
        "## Training",
        "## Sizes",
    ]
    assert "| accuracy | 0.91 | 0.9 |" in page
    assert "| loss | 0.4 | – |" in page
    assert "| probes/zh | 66 | 0.8123 | 0.7987 |" in page
    assert "| train | 10 | 5 | 4 | 6 |" in page
    assert "under the production budget" in page
    assert "| from version 1 | " in page


def test_the_demo_budget_is_not_called_private(service: Service) -> None:
    with service.database.write() as connection:
        pin(connection, "budget", b"demo", START)
    made = candidate(service, 2, aggregate=a_round(service, 1))
    service.publisher.publish(made, START)
    assert card(service)["privacy"]["phones"]["private"] is False
    assert "not private" in markdown(card(service))


def test_anyone_may_read_the_newest_card_and_it_names_no_phone(service: Service) -> None:
    service.publisher.publish(candidate(service, 2, aggregate=a_round(service, 1)), START)
    page = json.loads(public_page(service.database))
    assert page["cards"]["dedup"]["version"] == 2
    assert len(json.dumps(page["cards"]["dedup"])) < 16_384
    assert f"{7:032x}" not in json.dumps(page["cards"])
