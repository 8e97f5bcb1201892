"""The run: its directory, which is the truth, and everything that is read from it or written to it."""
