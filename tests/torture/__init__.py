"""The matrices of endings and faults, and how to provoke them. Run by scripts/torture and the suite."""
