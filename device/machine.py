"""Everything a phone is given from outside (law 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from device.actors import Clock
from device.conditions import ConditionSource
from device.endpoint import Endpoint
from device.language.extractors import Extractor
from device.observer import Observer, Silent
from device.readings import forget_readings
from device.recall.embedders import Embedder
from device.sync.adoption import Examiner
from device.sync.channel import Connect
from device.sync.modelpool import ModelPool
from device.vault import KeyProtector, Storage
from privacy import BitSource
from privacy.anchor import Anchor

__all__ = ["Machine"]


@dataclass(frozen=True, slots=True)
class Machine:
    """What a phone is given: time, randomness, storage, keys, senses and a way out."""

    clock: Clock
    bits: BitSource
    """Random bytes for keys, nonces and privacy noise: `os.urandom` on a real phone."""
    storage: Storage
    protector: KeyProtector
    conditions: ConditionSource
    rng: np.random.Generator
    """For local training and reconnect jitter, never for privacy."""
    anchor: Anchor | None = None
    """Marks, outside the storage, how far the privacy ledger has come; None: a ledger restored or
    copied is seen by receipts alone."""
    connect: Connect | None = None
    """Opens a channel to the cloud; None: the phone works alone."""
    observer: Observer = field(default_factory=Silent)
    embedder: Embedder | None = None
    """Makes vectors beside the built-in ones; None: those are enough."""
    private_bytes: Callable[[], int | None] = lambda: None
    """Reads the private memory of the process; None: it holds more than this phone, or the system
    does not tell, and the limit is not watched."""
    extractor: Extractor | None = None
    """Reads dialogue with a model service; None: the built-in rules, and nothing leaves."""
    distilling: Endpoint | None = None
    """The model service the settings name for distilling; None: nothing goes to one."""
    examiner: Examiner | None = None
    """Plays the memory probes before a release is adopted; None: only its score decides."""
    forget_readings: Callable[[], None] = forget_readings
    """Drops what this process keeps of texts for speed. Where many phones share a process and none
    holds anybody's secrets, one phone's forgetting need not drop what the others keep."""
    models: ModelPool | None = None
    """Shares the parameters of models with other phones of the process; None: it is the only one.
    """
