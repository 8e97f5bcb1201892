"""How runs are doing: poll and wait; and what is said to a live run: send and stop."""
