"""Releases on the phone: verify, try on the phone's own probes, adopt or keep what is in use.

A manifest counts when the trusted targets list it (`Shelf.trust`, trusting.py) and this phone is
among those that may take it at its stage. The parameters before the present ones are kept: the
owner can `revert` to them, and a release that the cloud withdraws is left by itself.

Law 4: nothing of a release is decoded before its signed manifest and the hash of its bytes fit.
Law 7: versions only rise; a release that does worse on this phone's probes is kept out. Two
measures: the loss on labelled probes and the owner's own examples, which moves with every one of
them, and the memory probes, whole recalls of which none may be lost. A router comes with the
retrieval policy it was signed with: both are probed, kept, put back and left as one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

import msgpack

from device.recall import Score
from device.sync.modelpool import Held, ModelPool
from device.sync.trusting import Trust
from device.vault import SealedLog
from protocol.errors import ProtocolError, ReleaseRefused
from protocol.models import SPECS, Weights
from protocol.params import Parameters, decode_full, encode_full
from protocol.release import (
    Manifest,
    check_release,
    in_cohort,
    open_manifest,
    open_release,
    plan_fetch,
    target_name,
)

__all__ = ["Examine", "Examiner", "Models", "Offer", "Outcome", "Policy", "Shelf"]

LOST_PROBES = 0
"""Memory probes that a candidate may fail of those which the present parameters pass."""
NAMED_PROBES = 3
"""Lost probes that a refusal names."""
KEPT_VERSIONS = 2
"""Versions of a model in the log: the one in use and the one before."""
_BLOB = 4
"""Where the parameters stand in a record of their adoption."""

Probe = Callable[[str, Weights], Score]
"""Score of a model's weights on this phone's probes."""
Policy = Mapping[str, float]
"""What a manifest says under `policy`; empty for the default one."""
NO_POLICY: Policy = MappingProxyType({})
Examine = Callable[[Parameters, Policy], Awaitable[frozenset[str]]]
"""Ids of the memory probes passed with these parameters and their policy, and those in use of the
other models."""


@dataclass(frozen=True, slots=True)
class Models:
    """The parameters a phone has; None: no release of that model yet."""

    router: Parameters | None = None
    dedup: Parameters | None = None
    policy: Policy = field(default_factory=dict)
    """The router's retrieval policy."""


class Examiner(Protocol):
    """Who plays the memory probes; `device.probing.Examiner` is one."""

    async def passed(self, models: Models) -> frozenset[str]:
        """Ids of the probes that a phone with `models` passes."""
        ...


@dataclass(frozen=True, slots=True)
class Offer:
    """A verified manifest of a newer release, and the base to fetch a difference from (0: full)."""

    manifest: Manifest
    base: int

    @property
    def size(self) -> int:
        """Bytes to fetch."""
        if self.base == 0:
            return self.manifest.full.size
        return self.manifest.differences[self.base].size


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an offered release."""

    model: str
    version: int
    adopted: bool
    reason: str
    """Empty when adopted; else why the older parameters stay."""
    score: float = 0.0
    """Accuracy on the phone's probes, 0–1."""
    tried: bool = True
    """False when a release adopted earlier was left again: no word on the one that comes next."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """Parameters in the log."""

    sequence: int
    version: int
    score: float
    policy: Policy


class Shelf:
    """The parameters in use and the versions seen; the only owner of the log it is given.

    Args:
        root_sha256: hex SHA-256 of the root file pinned when the phone was set up, "" without.
        pool: shares parameters with other phones of this process; None: there are none.
    """

    def __init__(
        self, log: SealedLog, root_sha256: str = "", pool: ModelPool | None = None
    ) -> None:
        self._log = log
        self._pool = ModelPool() if pool is None else pool
        self._held: dict[str, Held] = {}
        self._policies: dict[str, Policy] = {}
        self._entries: dict[str, list[_Entry]] = {model: [] for model in SPECS}
        """Oldest first."""
        self._refused: dict[str, int] = {}
        self._outcomes: dict[str, Outcome] = {}
        self._trust = Trust(root_sha256)
        self._trust_sequence: int | None = None
        for sequence, payload in log.read():
            self._replay(sequence, msgpack.unpackb(payload))
        for model, entries in self._entries.items():
            if entries:
                self._take_up(model, entries[-1])

    def adopted(self, model: str) -> Parameters | None:
        """The parameters of `model` in use, None before the first release."""
        held = self._held.get(model)
        return held.parameters if held else None

    def weights(self, model: str) -> Weights | None:
        """The same, as read-only float32 arrays."""
        held = self._held.get(model)
        return held.weights if held else None

    def policy(self, model: str) -> Policy:
        """The retrieval policy that came with the parameters in use; empty: the default one."""
        return self._policies.get(model, NO_POLICY)

    def version(self, model: str) -> int:
        """The version in use; 0 when none is."""
        parameters = self.adopted(model)
        return parameters.version if parameters else 0

    def have(self) -> dict[str, int]:
        """Model → version in use, for the session's proof."""
        return {model: self.version(model) for model in SPECS}

    def last_outcome(self, model: str) -> Outcome | None:
        """What became of the newest release this phone tried."""
        return self._outcomes.get(model)

    def trusted(self) -> dict[str, int]:
        """Role → version of the trusted file held, for the session's proof."""
        return self._trust.versions()

    @property
    def allows(self) -> Callable[[str, bytes, int], bool] | None:
        """(name, SHA-256, size) → whether the trusted targets list that file; None while this
        phone requires none."""
        return self._trust.allows if self._trust.required else None

    def trust(self, files: Sequence[bytes], *, now: float, proven: bool) -> list[Outcome]:
        """Take a plan's newer role files; gives what was left because the cloud withdrew it.

        ``proven``: the server has proven in this session that it is the pinned cloud. To be called
        before `offer`, and with no files too: what is held may have expired.

        Raises:
            MetadataRefused: nothing of them is trusted, and no release may be taken now.
        """
        if self._trust.take(files, now=now, proven=proven):
            older = self._trust_sequence
            entry = ["trusted", self._trust.pin, self._trust.state]
            self._trust_sequence = self._log.append(msgpack.packb(entry))
            if older is not None:
                self._log.erase([older])
        return [self._leave(model) for model in SPECS if self._withdrawn(model)]

    def offer(
        self, manifest_blob: bytes, *, cloud_key: bytes, now: float, device_id: str = ""
    ) -> Offer | None:
        """Check a manifest; None when this phone already has or has refused that version, or is
        not yet among those that may take it.

        Raises:
            ReleaseRefused, SignatureInvalid: it is not to be trusted.
        """
        manifest = open_manifest(manifest_blob, cloud_key)
        model, version = manifest.model, manifest.version
        spec = SPECS.get(model)
        if spec is None:
            raise ReleaseRefused("shape", "a model this phone does not know; update this phone")
        listed = self._trust.check(target_name(model, version), manifest_blob)
        if version in (self.version(model), self._refused.get(model)):
            return None
        at = self._trust.time(now)
        check_release(manifest, adopted_version=self.version(model), now=at, spec=spec)
        if listed is not None and not in_cohort(device_id, model, version, listed.custom.percent):
            return None
        return Offer(manifest, plan_fetch(manifest, self.version(model)))

    def revert(self, model: str) -> Outcome | None:
        """Go back to the parameters before the present ones and take this version no more; None
        when there are none. Durable on return."""
        if len(self._entries[model]) < KEPT_VERSIONS:
            return None
        return self._go_back(model, "put back by this phone's owner")

    def lend(self, parameters: Parameters, policy: Policy = NO_POLICY) -> None:
        """Use `parameters` until this object goes, without writing them: for a phone in RAM that
        tries what its owner has verified."""
        self._use(self._pool.hold(parameters), policy)

    async def consider(
        self, offer: Offer, blob: bytes, *, probe: Probe, examine: Examine | None = None
    ) -> Outcome:
        """Decode a fetched release, probe it, adopt it or keep the old. Durable on return.

        `examine` plays the memory probes; without it the score alone decides. Cancelled while it
        plays, nothing has changed.
        """
        manifest = offer.manifest
        spec = SPECS[manifest.model]
        base = self.adopted(manifest.model) if offer.base else None
        try:
            parameters = open_release(manifest, blob, base, spec)
        except ProtocolError as error:
            return self._refuse(Outcome(manifest.model, manifest.version, False, str(error)))
        candidate = self._pool.hold(parameters)
        score = probe(manifest.model, candidate.weights)
        reason = self._worse(manifest.model, score, probe)
        if not reason and examine is not None:
            reason = await self._loses(parameters, manifest.policy, examine)
        outcome = Outcome(manifest.model, manifest.version, not reason, reason, score.accuracy)
        if reason:
            return self._refuse(outcome)
        full = blob if base is None else encode_full(parameters)
        return self._adopt(candidate, full, outcome, manifest.policy)

    def _worse(self, model: str, score: Score, probe: Probe) -> str:
        """Why a candidate's score keeps it out, if it does."""
        current = self.weights(model)
        worse = current is not None and score.loss > probe(model, current).loss
        return "worse on this phone's probes" if worse else ""

    async def _loses(self, candidate: Parameters, policy: Policy, examine: Examine) -> str:
        """Which memory probes would be lost with `candidate` and its policy, if that keeps it out.

        A first release has no present parameters to lose anything against.
        """
        present = self.adopted(candidate.model)
        if present is None:
            return ""
        held = await examine(present, self.policy(candidate.model))
        lost = sorted(held - await examine(candidate, policy))
        if len(lost) <= LOST_PROBES:
            return ""
        more = f" and {len(lost) - NAMED_PROBES} more" if len(lost) > NAMED_PROBES else ""
        named = ", ".join(lost[:NAMED_PROBES])
        return f"fails memory probes that the present parameters pass: {named}{more}"

    def _adopt(self, candidate: Held, full: bytes, outcome: Outcome, policy: Policy) -> Outcome:
        """`full`: the blob from which a restart reads the candidate."""
        entry = ["adopted", outcome.model, outcome.version, outcome.score, full, dict(policy)]
        # One record: parameters and policy are durable together, or neither is.
        sequence = self._log.append(msgpack.packb(entry))
        entries = self._entries[outcome.model]
        entries.append(_Entry(sequence, outcome.version, outcome.score, policy))
        self._use(candidate, policy)
        self._outcomes[outcome.model] = outcome
        if older := [one.sequence for one in entries[:-KEPT_VERSIONS]]:
            del entries[:-KEPT_VERSIONS]
            self._log.erase(older)
        return outcome

    def _withdrawn(self, model: str) -> bool:
        """Whether the version in use is one that the trusted targets take back."""
        version = self.version(model)
        return bool(version) and version in self._trust.withdrawn(model)

    def _leave(self, model: str) -> Outcome:
        return self._go_back(model, "withdrawn by the cloud")

    def _go_back(self, model: str, reason: str) -> Outcome:
        """Leave the version in use for the one before, or for none.

        The word is durable first; the parameters that were left are erased after it, so that a
        phone that dies in between opens with the older ones.
        """
        left = self._entries[model][-1]
        self._log.append(msgpack.packb(["left", model, left.version, left.score, reason]))
        self._note_left(model, left.version, left.score, reason)
        self._log.erase([left.sequence])
        entries = self._entries[model]
        if entries:
            self._take_up(model, entries[-1])
        else:
            del self._held[model], self._policies[model]
        return self._outcomes[model]

    def _note_adopted(self, model: str, entry: _Entry) -> None:
        self._entries[model].append(entry)
        self._outcomes[model] = Outcome(model, entry.version, True, "", entry.score)

    def _note_left(self, model: str, version: int, score: float, reason: str) -> None:
        entries = self._entries[model]
        if entries and entries[-1].version == version:
            entries.pop()
        self._refused[model] = version
        self._outcomes[model] = Outcome(model, version, False, reason, score, tried=False)

    def _refuse(self, outcome: Outcome) -> Outcome:
        entry = ["refused", outcome.model, outcome.version, outcome.score, outcome.reason]
        self._log.append(msgpack.packb(entry))
        self._refused[outcome.model] = outcome.version
        self._outcomes[outcome.model] = outcome
        return outcome

    def _take_up(self, model: str, entry: _Entry) -> None:
        _, payload = next(iter(self._log.read(after=entry.sequence - 1)))
        blob = msgpack.unpackb(payload)[_BLOB]
        parameters = decode_full(blob, SPECS[model], entry.version)
        self._use(self._pool.hold(parameters), entry.policy)

    def _use(self, held: Held, policy: Policy) -> None:
        model = held.parameters.model
        self._held[model] = held
        self._policies[model] = policy

    def _replay(self, sequence: int, entry: list[object]) -> None:
        match entry:
            case ["adopted", str(model), int(version), float(score), bytes()]:
                # Written before there were policies.
                self._note_adopted(model, _Entry(sequence, version, score, NO_POLICY))
            case ["adopted", str(model), int(version), float(score), bytes(), dict(policy)]:
                self._note_adopted(model, _Entry(sequence, version, score, policy))
            case ["refused", str(model), int(version), float(score), str(reason)]:
                self._refused[model] = version
                self._outcomes[model] = Outcome(model, version, False, reason, score)
            case ["left", str(model), int(version), float(score), str(reason)]:
                self._note_left(model, version, score, reason)
            case ["trusted", str(pin), dict(state)]:
                self._trust.restore(pin, state)
                self._trust_sequence = sequence
