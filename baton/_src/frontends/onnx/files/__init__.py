"""How models are read: `reader` opens them without trusting them; `large_files` leaves large weights where they lie."""
