"""What functions take and return: parameters bound, preprocessed, loaded lazily, bundled or dropped."""
