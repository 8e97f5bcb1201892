"""How runs are doing: poll and wait; and what is said to an active run: send and stop."""
