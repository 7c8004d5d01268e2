"""The built-in functions of the virtual machine by subject: one table per file, all of them listed in `table.py`."""
