"""The process that brings news from run directories to the registry, the status line and the announcements.

Nothing depends on the watcher except what it shows. `main` is in watcher/run; system/watcher_lock starts the
process.

Joins.
"""
