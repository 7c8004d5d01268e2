"""Normalisations, by the axes they take statistics over; `normalized` is what they share."""
