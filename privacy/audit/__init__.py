"""The auditor: re-reads the books of phones and of a fleet, and trusts none of their sums.

One ledger
    replay.py       chain, charges, receipts, quarantines → `LedgerAudit` (books.py)
    costs.py, caps.py, signatures.py, odometer.py, conclude.py    its parts
    crosscheck.py   five accountants that must agree; accountants.py loads the two from outside
    page*.py, charts.py       the HTML report     explain.py, phrases.py    plain words, zh and en
A fleet
    evidence.py     what a cloud shows            fleet.py    the verdict on it
    rounds.py, releases.py, matching.py, findings.py    batches, guarantees, receipts
The shipped code
    mechanisms/     exact checks and hypothesis tests of the mechanisms themselves

openers.py finds who can open a sealed ledger or a fleet (entry points), and reads exported ones.
"""
