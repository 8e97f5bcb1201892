"""The tools that parents call: the catalogue, and what each of them does."""
