"""The process beside all runs: from run directories to the registry, the status line, and who is to be told.

It shows, and nothing depends on it but what it shows. `main` in `watcher/run.py`, started by edges/lookout.
"""
