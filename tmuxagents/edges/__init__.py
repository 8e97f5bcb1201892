"""Thin hands on the outside world: each module talks to exactly one thing, and decides nothing."""
