"""The registry: a cache of the run directories in SQLite, which can be removed at any moment."""
