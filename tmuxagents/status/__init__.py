"""The state of runs: poll and wait. Requests to active runs: send and stop."""
