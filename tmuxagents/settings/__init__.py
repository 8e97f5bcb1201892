"""Settings: their keys, their rules, and which values are in force."""
