"""Slurm on this machine: its commands, its reports on jobs, and the endings that these reports mean."""
