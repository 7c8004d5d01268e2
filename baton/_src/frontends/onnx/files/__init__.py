"""Reading models: `reader` opens them without trusting them; `large_files` leaves large weights in the file."""
