"""Releases on the phone: verify, try on the phone's own probes, adopt or keep what is in use.

Law 4: nothing of a release is decoded before its signed manifest and the hash of its bytes fit.
Law 7: versions only rise; a release that does worse on this phone's probes is kept out. Two
measures: the loss on labelled probes and the owner's own examples, which moves with every one of
them, and the memory probes, whole recalls of which none may be lost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import msgpack

from device.recall import Score
from device.vault import SealedLog
from protocol.errors import ProtocolError, ReleaseRefused
from protocol.models import SPECS, Weights
from protocol.params import Parameters, decode_full, encode_full
from protocol.release import Manifest, check_release, open_manifest, open_release, plan_fetch

__all__ = ["Examine", "Examiner", "Models", "Offer", "Outcome", "Shelf"]

LOST_PROBES = 0
"""Memory probes that a candidate may fail of those which the present parameters pass."""
NAMED_PROBES = 3
"""Lost probes that a refusal names."""

Probe = Callable[[str, Weights], Score]
"""Score of a model's weights on this phone's probes."""
Examine = Callable[[Parameters], Awaitable[frozenset[str]]]
"""Ids of the memory probes passed with these parameters, and those in use of the other models."""


@dataclass(frozen=True, slots=True)
class Models:
    """The parameters a phone has; None: no release of that model yet."""

    router: Parameters | None = None
    dedup: Parameters | None = None


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


class Shelf:
    """The parameters in use and the versions seen; the only owner of the log it is given."""

    def __init__(self, log: SealedLog) -> None:
        self._log = log
        self._adopted: dict[str, Parameters] = {}
        self._weights: dict[str, Weights] = {}
        self._sequence: dict[str, int] = {}
        self._refused: dict[str, int] = {}
        self._outcomes: dict[str, Outcome] = {}
        for sequence, payload in log.read():
            self._replay(sequence, msgpack.unpackb(payload))

    def adopted(self, model: str) -> Parameters | None:
        """The parameters of `model` in use, None before the first release."""
        return self._adopted.get(model)

    def weights(self, model: str) -> Weights | None:
        """The same, as float32 arrays."""
        return self._weights.get(model)

    def version(self, model: str) -> int:
        """The version in use; 0 when none is."""
        parameters = self._adopted.get(model)
        return parameters.version if parameters else 0

    def have(self) -> dict[str, int]:
        """Model → version in use, for the session's proof."""
        return {model: self.version(model) for model in SPECS}

    def last_outcome(self, model: str) -> Outcome | None:
        """What became of the newest release this phone tried."""
        return self._outcomes.get(model)

    def offer(self, manifest_blob: bytes, *, cloud_key: bytes, now: float) -> Offer | None:
        """Check a manifest; None when this phone already has or has refused that version.

        Raises:
            ReleaseRefused, SignatureInvalid: it is not to be trusted.
        """
        manifest = open_manifest(manifest_blob, cloud_key)
        spec = SPECS.get(manifest.model)
        if spec is None:
            raise ReleaseRefused("shape", "a model this phone does not know; update this phone")
        if manifest.version in (self.version(manifest.model), self._refused.get(manifest.model)):
            return None
        check_release(manifest, adopted_version=self.version(manifest.model), now=now, spec=spec)
        return Offer(manifest, plan_fetch(manifest, self.version(manifest.model)))

    def lend(self, parameters: Parameters) -> None:
        """Use `parameters` until this object goes, without writing them: for a phone in RAM that
        tries what its owner has verified."""
        self._adopted[parameters.model] = parameters
        self._weights[parameters.model] = parameters.weights()

    async def consider(
        self, offer: Offer, blob: bytes, *, probe: Probe, examine: Examine | None = None
    ) -> Outcome:
        """Decode a fetched release, probe it, adopt it or keep the old. Durable on return.

        `examine` plays the memory probes; without it the score alone decides. Cancelled while it
        plays, nothing has changed.
        """
        manifest = offer.manifest
        spec = SPECS[manifest.model]
        base = self._adopted.get(manifest.model) if offer.base else None
        try:
            parameters = open_release(manifest, blob, base, spec)
        except ProtocolError as error:
            return self._refuse(Outcome(manifest.model, manifest.version, False, str(error)))
        weights = parameters.weights()
        score = probe(manifest.model, weights)
        reason = self._worse(manifest.model, score, probe)
        if not reason and examine is not None:
            reason = await self._loses(parameters, examine)
        outcome = Outcome(manifest.model, manifest.version, not reason, reason, score.accuracy)
        return self._refuse(outcome) if reason else self._adopt(parameters, outcome)

    def _worse(self, model: str, score: Score, probe: Probe) -> str:
        """Why a candidate's score keeps it out, if it does."""
        current = self._weights.get(model)
        worse = current is not None and score.loss > probe(model, current).loss
        return "worse on this phone's probes" if worse else ""

    async def _loses(self, candidate: Parameters, examine: Examine) -> str:
        """Which memory probes would be lost with `candidate`, if that keeps it out.

        A first release has no present parameters to lose anything against.
        """
        present = self._adopted.get(candidate.model)
        if present is None:
            return ""
        lost = sorted(await examine(present) - await examine(candidate))
        if len(lost) <= LOST_PROBES:
            return ""
        more = f" and {len(lost) - NAMED_PROBES} more" if len(lost) > NAMED_PROBES else ""
        named = ", ".join(lost[:NAMED_PROBES])
        return f"fails memory probes that the present parameters pass: {named}{more}"

    def _adopt(self, parameters: Parameters, outcome: Outcome) -> Outcome:
        entry = ["adopted", outcome.model, outcome.version, outcome.score, encode_full(parameters)]
        sequence = self._log.append(msgpack.packb(entry))
        older = self._sequence.get(outcome.model)
        self._use(sequence, parameters, outcome)
        if older is not None:
            self._log.erase([older])
        return outcome

    def _refuse(self, outcome: Outcome) -> Outcome:
        entry = ["refused", outcome.model, outcome.version, outcome.score, outcome.reason]
        self._log.append(msgpack.packb(entry))
        self._refused[outcome.model] = outcome.version
        self._outcomes[outcome.model] = outcome
        return outcome

    def _use(self, sequence: int, parameters: Parameters, outcome: Outcome) -> None:
        self._sequence[outcome.model] = sequence
        self._adopted[outcome.model] = parameters
        self._weights[outcome.model] = parameters.weights()
        self._outcomes[outcome.model] = outcome

    def _replay(self, sequence: int, entry: list[object]) -> None:
        match entry:
            case ["adopted", str(model), int(version), float(score), bytes(blob)]:
                parameters = decode_full(blob, SPECS[model], version)
                self._use(sequence, parameters, Outcome(model, version, True, "", score))
            case ["refused", str(model), int(version), float(score), str(reason)]:
                self._refused[model] = version
                self._outcomes[model] = Outcome(model, version, False, reason, score)
