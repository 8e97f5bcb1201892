"""The matrices of endings and faults: data and how to provoke them. Run by scripts/torture and by the suite."""
