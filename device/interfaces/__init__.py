"""How people reach a phone's memory.

cli.py         `reverie-device`; its commands are in commands/
memory.py      `Memory`: the same from Python
mcp_server.py  the same for agents, over the Model Context Protocol
page/          the same in a browser, on loopback
home.py        a phone on a real machine, from its folder
service.py     a daemon serves the phone to all of the above (remote_agent.py, wire.py)
views.py       what people see of it (memory_views.py, knowledge_views.py, words.py)
chats.py       chat exports it can take in (whatsapp.py); episodes.py: recorded GUI episodes
copies.py      plain copies of the memory
"""
