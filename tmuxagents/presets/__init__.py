"""Presets and profiles: their fields, their files, which of them counts, and their skills."""
