"""The run: its directory, which is the only truth about it, and all that reads or writes this directory."""
