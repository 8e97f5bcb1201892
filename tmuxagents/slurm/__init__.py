"""Slurm as this machine knows it: its commands, what they say of a job, and which ending that is."""
