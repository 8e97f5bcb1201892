"""The registry, a cache of the run directories in SQLite. It can be removed at any moment."""
