"""Passes over Relay, one a file; `pipeline` lists them in the order `relay.build` runs them, `building` makes nodes."""
