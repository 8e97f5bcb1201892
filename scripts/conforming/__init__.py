"""Vectors of the pure parts against the real code: cases in, what the code says, and whether that is it."""
