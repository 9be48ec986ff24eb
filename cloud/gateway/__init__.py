"""The door phones knock on."""
