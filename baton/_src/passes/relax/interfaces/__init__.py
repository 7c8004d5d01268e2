"""What functions take and return: parameters bound, prepared in advance, loaded lazily, bundled or dropped."""
