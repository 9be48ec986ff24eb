"""`reverie-cloud doctor`: everything a support person would ask, and what to do about it.

    findings.py  what one look found; what the looks are given
    running.py   runs the checks: each with a time limit, none can stop another
    record.py    the database of record: there, of this version, writable; who ticks; alarms
    stores.py    blobs and disk space
    keys.py      signing and role keys, and how long what they signed is good
    helper.py    the helper: there, and the one trusted
    gateways.py  the gateways: there, ready, of one version; their TLS; the clock
    ports.py     what listens beyond this machine
    versions.py  of this installation; Ray
    commands.py  the command

Nothing is changed: the database is opened for reading only and never migrated, and what a check
writes to see whether writing works it takes back (in a bucket, one small object stays).
"""

from cloud.doctor.checks import CHECKS
from cloud.doctor.findings import Finding, Scene
from cloud.doctor.running import Report, examine

__all__ = ["CHECKS", "Finding", "Report", "Scene", "examine"]
