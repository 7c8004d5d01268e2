"""What the machine can do by itself, by subject: one table a file, all of them listed in `table.py`."""
