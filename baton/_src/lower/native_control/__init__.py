"""Functions with branches, loops and calls as one kernel that calls the others: `native_control_flow`."""
