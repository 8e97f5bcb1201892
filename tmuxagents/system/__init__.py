"""The machine, one part in each module: processes, places, removal, the watcher's lock."""
