"""Where values are stored: allocation, lifetimes, devices; and converting explicit memory back to values."""
