"""Upkeep: doctor examines, prune removes."""
