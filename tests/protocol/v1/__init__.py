"""Version 1 of the protocol as it was first spoken: a frozen copy, changed in its imports only.

Phones out there run it. The modules beside this page are never edited: what a session of version
1 may hold is what they accept.
"""
