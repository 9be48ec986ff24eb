"""Releases on the phone: verify, try on the phone's own probes, adopt or keep what is in use.

Law 4: nothing of a release is decoded before its signed manifest and the hash of its bytes fit.
Law 7: versions only rise; a release that does worse on this phone's probes is kept out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgpack

from device.recall import Score
from device.vault import SealedLog
from protocol.errors import ProtocolError, ReleaseRefused
from protocol.models import SPECS, Weights
from protocol.params import Parameters, decode_full, encode_full
from protocol.release import Manifest, check_release, open_manifest, open_release, plan_fetch

__all__ = ["Offer", "Outcome", "Shelf"]

Probe = Callable[[str, Weights], Score]
"""Score of a model's weights on this phone's probes."""


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

    def consider(self, offer: Offer, blob: bytes, *, probe: Probe) -> Outcome:
        """Decode a fetched release, probe it, adopt it or keep the old. Durable on return."""
        manifest = offer.manifest
        spec = SPECS[manifest.model]
        base = self._adopted.get(manifest.model) if offer.base else None
        try:
            parameters = open_release(manifest, blob, base, spec)
        except ProtocolError as error:
            return self._refuse(Outcome(manifest.model, manifest.version, False, str(error)))
        weights = parameters.weights()
        score = probe(manifest.model, weights)
        current = self._weights.get(manifest.model)
        worse = current is not None and score.loss > probe(manifest.model, current).loss
        reason = "worse on this phone's probes" if worse else ""
        outcome = Outcome(manifest.model, manifest.version, not worse, reason, score.accuracy)
        return self._refuse(outcome) if worse else self._adopt(parameters, outcome)

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
