"""Laws that hold for every program: checked on random ones."""
