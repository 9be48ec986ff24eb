"""The operators' side: who may look and steer, the pages they see, and the same as JSON."""
