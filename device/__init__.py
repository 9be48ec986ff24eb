"""One phone: its encrypted memory, its agent's recall, its dreams and its sync.

phone.py       composition root; machine.py: what it is given from outside
settings.py    every tunable; status.py, observer.py, monitor.py, logs.py beside it
actors/        mailboxes, supervision, clock, the window
conditions/    idle, charging, unmetered: Linux, Termux, a script
vault/         keys and the sealed log under every store
memory/        raw, structured and working layers, consolidation, forgetting
language/      times, entities, events, preferences (zh and en)
recall/        router, ranking, evaluation, labelled probes
probing/       memory probes: standard questions about scripted dialogues
agent/         what an agent learns of apps and tasks, and is given of it
owner/         what the owner sees, erases, takes out and brings back
learning/      examples from feedback, local training
account/       one memory on several devices of one person
sync/          usage, outbox, session, adoption
interfaces/    command line, Python, MCP, the local page, chat and episode imports
"""
