"""The load test of a deployed cloud: virtual phones, with their owners and windows, over real
sockets."""

from simulator.deployed.door import CloudRefused, Target
from simulator.deployed.load import LoadOptions, load

__all__ = ["CloudRefused", "LoadOptions", "Target", "load"]
