"""Uplink coding of a report: our own bounded format, read with numpy alone.

Layout, little-endian: magic ``RVR1`` | task u8 | round u64 | report id 16 | dimension u32 |
sealed seed length u16 | sealed seed | dimension × u32. The length of the whole is implied by its
header, so there is nothing to decompress and nothing that can grow. A masked vector looks uniform:
compressing it would gain nothing.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.protocol.v1.errors import ReportInvalid
from tests.protocol.v1.messages import MAX_INTEGER
from tests.protocol.v1.rounds import MAX_DIMENSION, TASKS, Task

__all__ = ["MAX_REPORT", "MAX_SEALED_SEED", "Report", "decode_report", "encode_report"]

REPORT_ID_SIZE = 16
MAX_SEALED_SEED = 256
_MAGIC = b"RVR1"
_HEADER = struct.Struct("<4sBQ16sIH")
_WORD = np.dtype("<u4")

MAX_REPORT = _HEADER.size + MAX_SEALED_SEED + MAX_DIMENSION * _WORD.itemsize
"""Bytes of the largest report."""


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """One phone's masked contribution: ``masked`` is uint32[dimension], mod 2^32."""

    task: Task
    round: int
    report_id: bytes
    masked: NDArray[np.uint32]
    sealed_seed: bytes


def encode_report(report: Report) -> bytes:
    """The report's bytes; ReportInvalid when a field is out of its bounds."""
    masked = np.asarray(report.masked)
    if masked.ndim != 1 or masked.dtype != np.uint32 or not 1 <= masked.size <= MAX_DIMENSION:
        raise ReportInvalid(f"masked must be uint32[1…{MAX_DIMENSION}]")
    if report.task not in TASKS:
        raise ReportInvalid("unknown task")
    if len(report.report_id) != REPORT_ID_SIZE or not 1 <= report.round <= MAX_INTEGER:
        raise ReportInvalid(f"a report id has {REPORT_ID_SIZE} bytes and a round is ≥ 1")
    if len(report.sealed_seed) > MAX_SEALED_SEED:
        raise ReportInvalid(f"a sealed seed has at most {MAX_SEALED_SEED} bytes")
    header = _HEADER.pack(
        _MAGIC,
        TASKS.index(report.task),
        report.round,
        report.report_id,
        masked.size,
        len(report.sealed_seed),
    )
    return header + report.sealed_seed + masked.astype(_WORD, copy=False).tobytes()


def decode_report(data: bytes, *, max_dimension: int = MAX_DIMENSION) -> Report:
    """The report of ``data``; ReportInvalid unless header, bounds and length all agree."""
    if not _HEADER.size <= len(data) <= MAX_REPORT:
        raise ReportInvalid("the report's length is out of bounds")
    magic, task, round_, report_id, dimension, sealed = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise ReportInvalid("not a report of this format")
    if task >= len(TASKS) or not 1 <= round_ <= MAX_INTEGER:
        raise ReportInvalid("unknown task or round")
    if not 1 <= dimension <= max_dimension or sealed > MAX_SEALED_SEED:
        raise ReportInvalid("the dimension or the sealed seed is over its limit")
    body = _HEADER.size + sealed
    if len(data) != body + dimension * _WORD.itemsize:
        raise ReportInvalid("the length does not match the header")
    masked = np.frombuffer(data, dtype=_WORD, offset=body).astype(np.uint32)
    return Report(
        task=TASKS[task],
        round=round_,
        report_id=report_id,
        masked=masked,
        sealed_seed=data[_HEADER.size : body],
    )
