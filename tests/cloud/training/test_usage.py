"""The fleet's usage mix, whichever way it was aggregated."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cloud.training.conftest import House


def test_the_trainer_takes_each_histogram_from_its_newest_round(house: House) -> None:
    def share(histogram: str, bin_: str, value: float) -> dict[str, Any]:
        return {"histogram": histogram, "bin": bin_, "estimate": value}

    zeros = np.zeros(1)
    house.aggregate(
        zeros,
        task="usage",
        estimates={"histograms": [share("language", "zh", 0.1), share("top_layer", "raw", 0.2)]},
    )
    house.aggregate(
        zeros, task="local_usage", estimates={"histograms": [share("language", "zh", 0.9)]}
    )
    model = house.aggregate(zeros, task="dedup")
    house.aggregate(
        zeros, task="local_usage", number=2, estimates={"histograms": [share("language", "en", 1)]}
    )
    trainer = house.trainer()
    assert trainer._usage_before(model) == {"language": {"zh": 0.9}, "top_layer": {"raw": 0.2}}
    trainer.close()
