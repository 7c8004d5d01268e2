"""Laws of random Relay programs: one value everywhere. Spread over files that processes share out."""
