"""Presets and profiles: their fields, files and skills, and the choice between files of one name."""
