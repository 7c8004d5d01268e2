"""Passes over Relay, one per file, in folders by what they change; passes over whole programs are in this folder.

`pipeline` lists them in the order `relay.build` runs them; `relay_pass` and `building` are the tools for writing them,
with `effects`, `effect_lets`, `let_placement`, `fresh_copy`, `temporaries`, `type_instances`, `written_types`.
"""
