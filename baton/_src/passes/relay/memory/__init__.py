"""Where values lie: allocations, lifetimes, devices, and back to values."""
