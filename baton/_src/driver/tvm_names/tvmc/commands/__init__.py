"""The command line of tvmc: `main` takes it apart, the other files are its commands."""
