"""The command line: `main` collects the commands, one file each; `console` is their terminal output."""
