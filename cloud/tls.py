"""The gateway's own TLS, and the name of its certificate that both ends sign.

A session is bound to the channel it runs on by the SHA-256 of the server's certificate
(tls-server-end-point, RFC 5929): who stands in between shows another one, and neither end's proof
holds. A proxy that ends TLS in front of the gateway binds too, when it is told its certificate.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

__all__ = ["Tls", "TlsUnusable", "load_tls"]


class TlsUnusable(Exception):
    """A certificate or key cannot be used; the message is one line that says what to do."""


@dataclass(frozen=True)
class Tls:
    """`context` serves it, None where a proxy in front does; `binding` is the SHA-256 of the
    certificate in DER."""

    context: ssl.SSLContext | None
    binding: bytes


def load_tls(certificate: Path, key: Path | None) -> Tls:
    """TLS 1.2 or newer with the chain in `certificate` (PEM, the server's own first).

    Args:
        key: its private key (PEM); None where a proxy holds it.

    Raises:
        TlsUnusable: a file is missing, is no PEM, or the two do not belong together.
    """
    try:
        first = certificate.read_text("ascii").partition("-----END CERTIFICATE-----")
        der = ssl.PEM_cert_to_DER_cert(first[0] + first[1])
    except (OSError, ValueError):
        raise TlsUnusable(f"{certificate} is no PEM certificate: check --tls-cert") from None
    if key is None:
        return Tls(None, sha256(der).digest())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError):
        raise TlsUnusable(
            f"{key} is not the private key of {certificate}: check --tls-key"
        ) from None
    return Tls(context, sha256(der).digest())
