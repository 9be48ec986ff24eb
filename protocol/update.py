"""Uplink coding of a report: our own bounded format, read with the standard library alone.

Layout, little-endian: magic ``RVR2`` | task u8 | round u64 | report id 16 | share length u32 |
sealed seed length u16 | sealed seed | share. The length of the whole is implied by its header, so
there is nothing to decompress and nothing that can grow. A share looks uniform: compressing it
would gain nothing. What its bytes mean is the privacy room's affair: a masked vector, a proven
share of counts, or the answer of a local randomiser.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from protocol.errors import ReportInvalid
from protocol.messages import MAX_INTEGER
from protocol.rounds import MAX_DIMENSION, TASKS, Task

__all__ = ["MAX_REPORT", "MAX_SEALED_SEED", "MAX_SHARE", "Report", "decode_report", "encode_report"]

REPORT_ID_SIZE = 16
MAX_SEALED_SEED = 256
MAX_SHARE = 4 * MAX_DIMENSION
"""Bytes of the largest share: one 32-bit word for every value of the largest vector."""
_MAGIC = b"RVR2"
_HEADER = struct.Struct("<4sBQ16sIH")

MAX_REPORT = _HEADER.size + MAX_SEALED_SEED + MAX_SHARE
"""Bytes of the largest report."""


@dataclass(frozen=True, slots=True)
class Report:
    """One phone's contribution: ``share`` is the leader's, the helper's grows from
    ``sealed_seed`` (empty where there is no helper)."""

    task: Task
    round: int
    report_id: bytes
    share: bytes
    sealed_seed: bytes


def encode_report(report: Report) -> bytes:
    """The report's bytes; ReportInvalid when a field is out of its bounds."""
    if report.task not in TASKS:
        raise ReportInvalid("unknown task")
    if not isinstance(report.share, bytes) or not 1 <= len(report.share) <= MAX_SHARE:
        raise ReportInvalid(f"a share has 1 to {MAX_SHARE} bytes")
    if len(report.report_id) != REPORT_ID_SIZE or not 1 <= report.round <= MAX_INTEGER:
        raise ReportInvalid(f"a report id has {REPORT_ID_SIZE} bytes and a round is ≥ 1")
    if len(report.sealed_seed) > MAX_SEALED_SEED:
        raise ReportInvalid(f"a sealed seed has at most {MAX_SEALED_SEED} bytes")
    header = _HEADER.pack(
        _MAGIC,
        TASKS.index(report.task),
        report.round,
        report.report_id,
        len(report.share),
        len(report.sealed_seed),
    )
    return header + report.sealed_seed + report.share


def decode_report(data: bytes, *, max_share: int = MAX_SHARE) -> Report:
    """The report of ``data``; ReportInvalid unless header, bounds and length all agree."""
    if not _HEADER.size <= len(data) <= MAX_REPORT:
        raise ReportInvalid("the report's length is out of bounds")
    magic, task, round_, report_id, share, sealed = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise ReportInvalid("not a report of this format")
    if task >= len(TASKS) or not 1 <= round_ <= MAX_INTEGER:
        raise ReportInvalid("unknown task or round")
    if not 1 <= share <= max_share or sealed > MAX_SEALED_SEED:
        raise ReportInvalid("the share or the sealed seed is over its limit")
    body = _HEADER.size + sealed
    if len(data) != body + share:
        raise ReportInvalid("the length does not match the header")
    return Report(
        task=TASKS[task],
        round=round_,
        report_id=report_id,
        share=data[body:],
        sealed_seed=data[_HEADER.size : body],
    )
