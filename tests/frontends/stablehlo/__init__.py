"""The importer of StableHLO's text."""
