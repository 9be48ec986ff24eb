"""What turns dialogue into drafts of memories: built-in rules, or a model service if one is named.

extractor.py  the protocol every extractor keeps
builtin.py    the rules of `device.language.events`: nothing leaves the phone (the default)
service.py    an OpenAI-compatible service: the turns leave the phone, and `status` says so
answer.py     what a service may answer: bounded, schema-checked, and only what the turn itself says
choice.py     which one the settings ask for
"""

from device.language.extractors.builtin import BuiltinExtractor
from device.language.extractors.choice import choose_extractor
from device.language.extractors.extractor import Extractor, Said
from device.language.extractors.service import ServiceExtractor

__all__ = ["BuiltinExtractor", "Extractor", "Said", "ServiceExtractor", "choose_extractor"]
