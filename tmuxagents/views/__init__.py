"""What several runs look like on a screen: previews, and the board of a call."""
