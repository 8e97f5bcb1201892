"""Other machines that children work on: the user's hosts, and the ways to reach them."""
