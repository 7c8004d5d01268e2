"""Where values are stored: allocation, lifetimes, devices, and back to plain values."""
