"""What several runs look like on a screen: previews, the board of a call, top."""
