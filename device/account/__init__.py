"""One memory on several devices of one person, sealed end to end; raw logs stay home.

calls.py       what the owner does; holder.py: where a phone says it may have an account
noticing.py    what changed here          intake.py     what came from the others
replica.py, hlc.py     one item as all devices see it, in whatever order they hear of it
exchange.py    letters out and in         postbox.py    their way through a sync session
sealing.py     what a letter is sealed to pairing.py    a code that lets one device in
content.py, payload.py, unpacking.py      the bytes inside
store.py, profile.py, roster.py, counting.py            what this device keeps of the account

Imports nothing by itself: a phone in no account carries none of it.
"""
