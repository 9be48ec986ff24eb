"""What was read of a text is kept for a while: `protocol.models.kept`, for this room's readers.

`device.readings` drops all of it, and gives it more room in a process of many phones.
"""

from protocol.models.kept import KEPT_READINGS, LONGEST_TEXT, Kept, kept

__all__ = ["KEPT_READINGS", "LONGEST_TEXT", "Kept", "kept"]
