"""Operators that divide by a deviation or a norm, by what they take it over; `normalized` is what they share."""
