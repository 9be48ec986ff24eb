"""The write chain: what one finished run does to the facts held of its app (000, 001).

offers → post-checks → judged against what is held → at most three written → limits kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from device.agent.checks import fact_refusal
from device.agent.distillation import Distiller, Judgement, Verdict
from device.agent.facts import classify, confirmed, evicted, refuted
from device.agent.policy import AgentPolicy
from device.agent.records import Fact, FactKind, Outcome, Run

__all__ = ["Offers", "Writing", "marked", "may_distil", "may_write", "offered", "settled"]

DAY_SECONDS = 86_400.0
OFFER = "offer:"
"""Begins the id of an earlier offer of the same run, until it has one of its own."""


@dataclass(slots=True)
class Draft:
    """The facts of one app while a run is written: ids to facts, new ones under new ids."""

    held: dict[str, Fact]
    changed: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)

    def put(self, identifier: str, fact: Fact) -> None:
        """Set a fact."""
        if self.held.get(identifier) != fact:
            self.held[identifier] = fact
            self.changed.add(identifier)

    def drop(self, identifier: str) -> None:
        """Let a fact go."""
        if self.held.pop(identifier, None) is not None:
            self.changed.discard(identifier)
            self.dropped.add(identifier)


@dataclass(frozen=True, slots=True)
class Offer:
    """A sentence that passed the rules, and how it stands to what is held."""

    content: str
    kind: FactKind
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Offers:
    """What a run has to teach, and why some of it was refused (never its words)."""

    offers: tuple[Offer, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Writing:
    """What a run changed."""

    changed: dict[str, Fact]
    """New and changed facts by id."""
    dropped: tuple[str, ...]
    written: int
    """Facts that are new."""
    refused: tuple[str, ...]
    """Why offers were refused, never their words."""


def may_distil(run: Run, before: Iterable[tuple[Run, float]], now: float, p: AgentPolicy) -> bool:
    """Whether this app and task type have distillations left today; `before`: (run, when)."""
    today = [
        done
        for done, at in before
        if done.app == run.app and now - at < DAY_SECONDS and set(done.intents) & set(run.intents)
    ]
    return run.outcome is Outcome.SUCCESS and len(today) < p.distillations_a_day


def may_write(app: str, last_written: Mapping[str, float], now: float, p: AgentPolicy) -> bool:
    """Whether the app has cooled down since facts of it were last written."""
    return now - last_written.get(app, float("-inf")) >= p.merge_cooldown_seconds


async def offered(
    run: Run, facts: Mapping[str, Fact], distiller: Distiller, policy: AgentPolicy
) -> Offers:
    """What the distiller has to say of a run, checked by rule and judged against the facts held.

    May take as long as the distiller's service does; nothing is changed yet.
    """
    beside = {i: fact.content for i, fact in facts.items() if fact.app == run.app}
    offers: list[Offer] = []
    refused = []
    said = list(await distiller.facts(run))[: policy.facts_distilled]
    for content in (" ".join(sentence.split()) for sentence in said):
        kind = classify(content)
        if why := fact_refusal(content, kind):
            refused.append(why)
            continue
        judgement = await distiller.judge(content, beside)
        if judgement.held not in beside:
            judgement = Judgement(Verdict.INDEPENDENT)
        offers.append(Offer(content, kind, judgement))
        beside[f"{OFFER}{len(offers) - 1}"] = content
    return Offers(tuple(offers), tuple(refused))


def settled(
    offers: Offers,
    run: Run,
    source: str,
    facts: Mapping[str, Fact],
    fresh: Iterable[str],
    *,
    now: float,
    policy: AgentPolicy,
) -> Writing:
    """The facts of all apps after a run's offers; `source` is the run's id.

    `fresh` gives ids for new facts, in order. A judgement about a fact that is gone meanwhile
    counts as independent.
    """
    draft = Draft(dict(facts))
    new_ids = iter(fresh)
    names: dict[str, str] = {}
    refused = list(offers.refused)
    written = 0
    for place, offer in enumerate(offers.offers):
        held = names.get(offer.judgement.held, offer.judgement.held)
        judgement = replace(offer.judgement, held=held)
        if held not in draft.held:
            judgement = Judgement(Verdict.INDEPENDENT)
        adds = judgement.verdict in (Verdict.INDEPENDENT, Verdict.CONTRADICTS)
        if adds and written >= policy.facts_written:
            refused.append("enough written for one run")
            continue
        new = Fact(run.app, offer.content, offer.kind, policy.fact_confidence, now, now, (source,))
        identifier = next(new_ids) if adds else judgement.held
        names[f"{OFFER}{place}"] = identifier
        written += adds
        _settle(draft, judgement, new, identifier, policy)
    for identifier in evicted(draft.held, now, policy):
        draft.drop(identifier)
    changed = {i: draft.held[i] for i in sorted(draft.changed & draft.held.keys())}
    gone = tuple(sorted(draft.dropped & facts.keys()))
    return Writing(changed, gone, written, tuple(refused))


def marked(
    facts: Mapping[str, Fact],
    confirmed_ids: Iterable[str],
    refuted_ids: Iterable[str],
    at: float,
    policy: AgentPolicy,
) -> Writing:
    """What a run that used facts says of them. A fact named by both lists is refuted."""
    draft = Draft(dict(facts))
    bad = set(refuted_ids)
    for identifier in dict.fromkeys(confirmed_ids):
        if identifier in draft.held and identifier not in bad:
            draft.put(identifier, confirmed(draft.held[identifier], at, policy))
    for identifier in sorted(bad & draft.held.keys()):
        weaker = refuted(draft.held[identifier], policy)
        if weaker is None:
            draft.drop(identifier)
        else:
            draft.put(identifier, weaker)
    changed = {i: draft.held[i] for i in sorted(draft.changed)}
    return Writing(changed, tuple(sorted(draft.dropped)), 0, ())


def _settle(
    draft: Draft, judgement: Judgement, new: Fact, identifier: str, policy: AgentPolicy
) -> None:
    """Put a new fact where its judgement says (000, conflicts; 001, semantic dedup)."""
    if judgement.verdict is Verdict.INDEPENDENT:
        draft.put(identifier, new)
        return
    old = draft.held[judgement.held]
    if judgement.verdict is Verdict.CONTRADICTS:
        _contradict(draft, judgement.held, old, identifier, new, policy)
        return
    sources = tuple(dict.fromkeys((*old.sources, *new.sources)))
    told = replace(confirmed(old, new.verified, policy), sources=sources)
    rewrite = " ".join(judgement.rewrite.split())
    if judgement.verdict is Verdict.MERGE and rewrite:
        kind = classify(rewrite)
        if not fact_refusal(rewrite, kind):
            told = replace(told, content=rewrite, kind=kind)
    draft.put(judgement.held, told)


def _contradict(
    draft: Draft, old_id: str, old: Fact, new_id: str, new: Fact, policy: AgentPolicy
) -> None:
    """Surer and newer replaces; of like confidence both stay; else the new one waits."""
    gap = new.confidence - old.confidence
    if abs(gap) <= policy.fact_close:
        draft.put(old_id, replace(old, rivals=tuple(dict.fromkeys((*old.rivals, new_id)))))
        draft.put(new_id, replace(new, rivals=(old_id,)))
    elif gap > 0 and new.verified >= old.verified:
        draft.drop(old_id)
        draft.put(new_id, new)
    else:
        draft.put(new_id, replace(new, pending=True))
