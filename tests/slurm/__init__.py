"""Runs in a real Slurm: `python -m tests.slurm`, which scripts/try-slurm starts."""
