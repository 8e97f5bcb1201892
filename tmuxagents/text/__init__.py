"""Bytes and words: JSON lines, safe text, YAML, paths. It knows nothing of runs."""
