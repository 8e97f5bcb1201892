"""Several runs on one screen: previews, last lines, and the board of a call."""
