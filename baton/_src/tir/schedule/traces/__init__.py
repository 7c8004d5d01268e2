"""Traces of schedules: the steps taken, as instructions that can be printed, stored and replayed."""
