"""Pure rules: text and records in, text and records out. No files, processes, clock, environment, tmux."""
