"""Slurm on this machine: its commands, what they report of a job, and the ending that this means."""
