"""The cloud's actors and the two runtimes they live in."""
