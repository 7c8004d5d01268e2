"""What functions take and give: parameters bound, prepared, loaded lazily, bundled or dropped."""
