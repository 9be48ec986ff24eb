from __future__ import annotations

from device.memory.records import Answer, Hit, Layer
from device.sync.usage import Usage
from privacy.streams import USAGE_HISTOGRAMS, split_usage
from tests.device.sync.conftest import NOW, Vault

QUERY = "when do I fly to Hangzhou with the canary-7781?"


def answer(query: str = QUERY, layer: Layer = Layer.STRUCTURED, by: str = "rule") -> Answer:
    hit = Hit("mem:1", layer, "a flight", NOW, 1.0)
    return Answer("a1", query, NOW, (hit,), {layer.value: 1.0}, by)


def chosen(usage: Usage, records: int) -> dict[str, str]:
    vector = usage.answers(records).vector()
    return {
        name: max(bins, key=lambda bin_: bins[bin_]) for name, bins in split_usage(vector).items()
    }


def test_every_histogram_gets_exactly_one_bin(vault: Vault) -> None:
    usage = Usage(vault.log("usage"))
    for events in range(3):
        vector = usage.answers(records=10).vector()
        assert vector.sum() == len(USAGE_HISTOGRAMS), events
        usage.answered(answer())


def test_counts_become_the_commonest_category_and_survive_a_restart(vault: Vault) -> None:
    usage = Usage(vault.log("usage"))
    for _ in range(3):
        usage.answered(answer(by="model", layer=Layer.RAW))
    usage.answered(answer("我住在哪里？"))
    usage.judged(useful=True)
    usage.judged(useful=False)
    usage.adoption("router", "adopted")
    again = Usage(vault.log("usage"))
    seen = chosen(again, records=150)
    assert seen == again.answers(records=150).bins, "vector and answers come from one place"
    assert seen == {
        "decided_by": "model",
        "top_layer": "raw",
        "language": "en",
        "queries": "1-5",
        "records": "100-999",
        "usefulness": "25-50",
        "router_adoption": "adopted",
        "dedup_adoption": "none",
    }


def test_reported_counts_are_forgotten_and_newer_ones_kept(vault: Vault) -> None:
    usage = Usage(vault.log("usage"))
    usage.answered(answer())
    through = usage.answers(records=1).through
    usage.answered(answer("东京怎么样", by="fallback"))
    usage.forget(through)
    assert chosen(Usage(vault.log("usage")), records=1)["decided_by"] == "fallback"


def test_no_word_of_a_query_is_kept(vault: Vault) -> None:
    usage = Usage(vault.log("usage"))
    usage.answered(answer())
    log = vault.log("usage")
    assert all(b"canary" not in payload for _, payload in log.read())
