"""The cloud's end of TUF: who signs what phones may install.

keys.py         the roles' keys in files, root optionally in a folder that is offline
tables.py       signed role files, what is listed, and how far each release has got
repository.py   lists targets, signs targets, snapshot and timestamp; rotates keys
showing.py      what one phone is shown of all this
card.py         the model card of a release; card_page.py shows it to people
lines.py        one line for each candidate and release
steering.py     what operators move by hand
commands.py     `reverie-cloud keys`; steer_commands.py: `releases`, `card`, `halt`, `rollback`,
                `advance` and `publish release`
"""
