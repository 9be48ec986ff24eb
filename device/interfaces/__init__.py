"""How people reach a phone's memory.

cli.py      `reverie-device`
home.py     a phone on a real machine, from its folder
views.py    what people see of it
chats.py    chat exports it can take in (whatsapp.py)
"""
