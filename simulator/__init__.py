"""A world of virtual phones: the device's real code, under a virtual clock, with the real cloud."""
