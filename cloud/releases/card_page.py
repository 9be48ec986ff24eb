"""A model card for people, as Markdown: the same sections in the terminal and in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

__all__ = ["markdown"]

_USES: Final[Mapping[str, str]] = {
    "router": (
        "Weighs, for a question to one's own memory, which of its layers answer it: working, "
        "structured or raw. It runs on the phone; what it decides is only where to look."
    ),
    "dedup": (
        "Says of two remembered sentences whether the second adds nothing, completes or changes "
        "the first, or is another fact. It runs on the phone, which merges by it only with rules "
        "of its own beside it."
    ),
}
_LIMITS: Final = (
    "Chinese and English only; other languages are answered, but nothing was measured on them.",
    "Trained on sentences made up for the purpose: real phones ask otherwise, and keep an older "
    "version where this one is worse on their own examples.",
    "The figures are of small sets: one example of the probes is most of a point.",
    "Not meant to tell anything about a person: its outputs are layers and pairs, not traits.",
)
_METRICS: Final = ("accuracy", "accuracy_templates", "accuracy_written", "accuracy_probes", "exact")
_ABSENT = "–"


def markdown(card: Mapping[str, Any]) -> str:
    """The page of a card as `card_of` gives it; a candidate's has no more than its evaluation."""
    parts = [_head(card), _purpose(card), _evaluation(card)]
    if "format" in card:
        parts += [_data(card), _privacy(card), _training(card), _sizes(card)]
    return "\n".join(line for part in parts for line in (*part, "")).rstrip() + "\n"


def _head(card: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {card['model']} {card['version']}"
    yield ""
    said = f"{card['status']}: {card['reason']}" if card.get("reason") else card["status"]
    yield f"- status: {said}"
    yield f"- trained from: {'version ' + str(card['parent']) if card['parent'] else 'nothing'}"
    if "format" in card:
        layers = "–".join(str(size) for size in card["layers"])
        yield f"- network: {layers}, {card['parameters']} parameters"
        yield f"- feature version: {card['feature_version']}"
        yield f"- published {_day(card['published'])}, good until {_day(card['expires'])}"
        yield f"- sha256 of the parameters: `{card['sha256']}`"


def _purpose(card: Mapping[str, Any]) -> Iterator[str]:
    yield "## Intended use"
    yield ""
    yield _USES[card["model"]]
    yield ""
    yield "## Limits"
    yield ""
    yield from (f"- {limit}" for limit in _LIMITS)


def _evaluation(card: Mapping[str, Any]) -> Iterator[str]:
    found = card.get("evaluation") or {}
    yield "## Metrics"
    yield ""
    if not found:
        yield "Not judged yet."
        return
    against = found["against"]
    verdict = "passed the gate" if found["passed"] else f"did not pass: {found['reason']}"
    yield f"Judged {'against version ' + str(against) if against else 'as the first'}: {verdict}."
    yield ""
    measured = found["metrics"]
    rows = [(name, measured[name]) for name in (*_METRICS, "loss") if name in measured]
    yield from _table(
        ("figure", "this version", "before"),
        [(name, _figure(one["value"]), _figure(one.get("before"))) for name, one in rows],
    )
    yield ""
    yield from _table(
        ("slice", "examples", "accuracy", "before"),
        [
            (name, str(one["examples"]), _figure(one["accuracy"]), _figure(one.get("before")))
            for name, one in found["slices"].items()
        ],
    )


def _data(card: Mapping[str, Any]) -> Iterator[str]:
    corpus, phones = card["data"]["corpus"], card["data"]["phones"]
    yield "## Data"
    yield ""
    yield "Built-in corpus, public; only `train` is trained on."
    yield ""
    tongues = sorted({tongue for one in corpus.values() for tongue in one["languages"]})
    yield from _table(
        ("set", "examples", "templates", *tongues),
        [
            (
                name,
                str(one["examples"]),
                str(one["units"]),
                *(str(one["languages"].get(tongue, 0)) for tongue in tongues),
            )
            for name, one in corpus.items()
        ],
    )
    yield ""
    yield (
        f"Phones: {phones['rounds']} rounds of updates with {phones['reports']} reports, of which "
        f"only noisy sums were seen; {phones['usage_rounds']} rounds of usage counts."
    )
    if phones["newest"]:
        yield ""
        yield from _table(
            ("round", "phones", "from version", "noise std"),
            [
                (str(one["round"]), str(one["phones"]), str(one["base"]), _figure(one["noise_std"]))
                for one in phones["newest"]
            ],
        )


def _privacy(card: Mapping[str, Any]) -> Iterator[str]:
    central, phones = card["privacy"]["central"], card["privacy"]["phones"]
    yield "## Privacy"
    yield ""
    yield (
        f"- central step: ε {central['epsilon']:.3g} at δ {central['delta']:.1g} for one "
        f"{central['unit']} of the corpus, noise {central['noise_multiplier']} x clip "
        f"{central['clip']}, sampling rate {central['sample_rate']}"
    )
    if not phones["rounds"]:
        yield "- phones: none has contributed to it"
        return
    yield (
        f"- phones: ε {phones['epsilon']:.3g} at δ {phones.get('delta', 0.0):.1g} for a phone that "
        f"took part in all {phones['rounds']} rounds, under the {phones['budget'] or 'unknown'} "
        f"budget (σ {_figure(phones.get('sigma'))}, clip {_figure(phones.get('clip'))})"
    )
    if not phones.get("private", True):
        yield "- that budget is for demonstrations: it is not private"


def _training(card: Mapping[str, Any]) -> Iterator[str]:
    yield "## Training"
    yield ""
    yield from (f"- {name}: {value}" for name, value in card["training"].items())
    if card["policy"]:
        floors = ", ".join(f"{name} {value}" for name, value in sorted(card["policy"].items()))
        yield f"- retrieval policy: {floors}"


def _sizes(card: Mapping[str, Any]) -> Iterator[str]:
    sizes = card["sizes"]
    yield "## Sizes"
    yield ""
    rows = [(f"from version {base}", str(size)) for base, size in sizes["differences"].items()]
    yield from _table(("what a phone fetches", "bytes"), [("all of it", str(sizes["full"])), *rows])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for cells in (head, ["---"] * len(head), *rows):
        yield "| " + " | ".join(cells) + " |"


def _figure(value: float | None) -> str:
    return _ABSENT if value is None else f"{value:.4g}"


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
