"""Passes over Relay, one a file, in folders by what they change; those over whole programs lie here.

`pipeline` lists them in the order `relay.build` runs them; `relay_pass` and `building` are what they are written with.
"""
