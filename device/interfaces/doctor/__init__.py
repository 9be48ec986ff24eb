"""`reverie-device doctor`: everything a support person would ask, and what to do about it.

running.py   runs the checks: each with a time limit, none can stop another
patient.py   what the checks look at
place.py     the folder, its permissions, the space, whether a write survives
keys.py      who keeps the secret       store.py   the sealed logs, the privacy budget
senses.py    the three conditions       life.py    whether a daemon runs
cloud.py     the cloud: there, trusted, in time, spoken to in a language both know
versions.py  of this app, its Python, its packages
words.py     what is said, in English and Chinese
"""

from device.interfaces.doctor.patient import Patient
from device.interfaces.doctor.running import Report, examine

__all__ = ["Patient", "Report", "examine"]
