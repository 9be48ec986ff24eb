"""The commands of `reverie-device`, one file a group; cli.py puts them together."""
