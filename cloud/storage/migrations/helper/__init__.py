"""The steps of the helper's tables."""
