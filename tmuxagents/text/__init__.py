"""Bytes and words: JSON lines, safe text, YAML, paths. These modules know nothing of runs."""
