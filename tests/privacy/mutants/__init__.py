"""The product broken on purpose, one fault at a time: each must turn the audit red.

surgery.py   how a real product function is replaced or edited for one test
mechanisms.py, gate.py, ledger.py, servers.py, accounts.py   the faults, by where they sit
"""
