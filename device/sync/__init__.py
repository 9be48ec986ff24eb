"""How a phone meets its cloud.

identity.py       the phone's key and pseudonym
usage.py          counts of use, forgotten once reported
contributions.py  open rounds → reports, through the privacy gate
outbox.py         sealed reports waiting for a durable acknowledgement
bookkeeping.py    the privacy ledger in step with outbox and receipts
adoption.py       releases: verify, probe, adopt or keep, go back
trusting.py       the signed role files that say what may be adopted
documents.py      public documents: verify, fetch whole or by increment, keep
client.py         one sync, over a channel (channel.py, websocket.py)
backoff.py        when to try again
root.py           the cloud's public key, to be pinned
"""
