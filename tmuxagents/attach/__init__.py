"""Show a person the window of a run."""
