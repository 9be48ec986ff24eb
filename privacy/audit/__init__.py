"""The auditor: re-reads a ledger and trusts none of its sums.

replay.py     chain, bookkeeping, floors and caps of every entry → `LedgerAudit`
openers.py    finds who can open a sealed ledger (entry points), reads exported ones
crosscheck.py our accountants against google/dp-accounting, where that is installed
"""
