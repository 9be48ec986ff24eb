"""One fleet's learning service: it learns from noise-protected sums of many phones."""
