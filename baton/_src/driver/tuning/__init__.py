"""Autotuning: `tune` searches, `trial` measures (in other processes: `measurers`), `tuning_records` remembers."""
