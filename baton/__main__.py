"""`python -m baton`: the command line, for environments whose scripts are not on the path."""

from baton._src.tools.main import app

if __name__ == "__main__":
    app(prog_name="baton")
