"""The steps of the cloud's tables."""
