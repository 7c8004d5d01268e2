"""The command line: `main` gathers the verbs, one file each; `console` is how they talk to a person."""
