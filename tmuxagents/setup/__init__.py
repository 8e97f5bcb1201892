"""A person's first minutes, and their settings: the files of settings, edited in place, and the demo."""
