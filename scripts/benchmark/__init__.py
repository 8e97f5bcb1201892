"""scripts/bench: what we cost beside what the machine itself costs, measured in the same run."""
