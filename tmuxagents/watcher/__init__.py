"""The process beside all runs: from run directories to the registry, the status line, and announcements.

It shows, and nothing depends on it but what it shows. `main` is in watcher/run; system/watcher_lock starts
it.

Joins.
"""
