"""Memory probes: standard questions about scripted dialogues, asked of a real phone memory.

suite/        the probes: one TOML file a path through the memory
loading.py    reads them
schema.py     what a dialogue and a probe may say; steps.py what happens in one
stage.py      a phone in RAM that plays a dialogue under a scripted clock
checks.py     what a probe expects against what the phone answered
engine.py     plays a suite, one result at a time
examiner.py   which probes a set of parameters passes, worked out once
"""

from device.probing.engine import Report, Result, play, run
from device.probing.examiner import Examiner
from device.probing.loading import Suite, SuiteInvalid, load_suite
from device.probing.schema import Dialogue, Language, MemoryKind, Probe
from device.sync.adoption import Models

__all__ = [
    "Dialogue",
    "Examiner",
    "Language",
    "MemoryKind",
    "Models",
    "Probe",
    "Report",
    "Result",
    "Suite",
    "SuiteInvalid",
    "load_suite",
    "play",
    "run",
]
