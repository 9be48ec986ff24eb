"""Which extractor the settings ask for."""

from __future__ import annotations

from collections.abc import Mapping

from device.endpoint import Endpoint, EndpointError
from device.language.extractors.builtin import BuiltinExtractor
from device.language.extractors.extractor import Extractor
from device.language.extractors.service import ServiceExtractor
from device.settings import Settings

__all__ = ["choose_extractor"]


def choose_extractor(settings: Settings, environment: Mapping[str, str]) -> Extractor:
    """The built-in extractor, or the service that the settings name.

    Raises:
        EndpointError: the service's address cannot be used.
    """
    if settings.extractor == "builtin":
        return BuiltinExtractor()
    if not settings.extractor_url:
        raise EndpointError("extractor_url names no service: set it to its address")
    return ServiceExtractor(
        Endpoint(
            settings.extractor_url,
            model=settings.extractor_model,
            key=environment.get(settings.extractor_key_variable, ""),
            timeout=settings.extractor_seconds,
        )
    )
