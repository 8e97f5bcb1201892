"""The processes in the background. The watcher keeps registry, status line and announcements current. Joins.

No run depends on the watcher. `main` is in watcher/run, and system/watcher_lock starts the process. `keep`
and `mirror` are processes of their own, for jobs of Slurm and for each host.
"""
