"""The phone's own web page: on loopback, behind a token, with nothing from elsewhere."""

from device.interfaces.page.server import page

__all__ = ["page"]
