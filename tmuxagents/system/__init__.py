"""The machine, one thing a module: processes, places, removal, the watcher's lock."""
