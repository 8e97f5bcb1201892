"""The same examples at each run, and nothing kept on disk: a failure here is a failure everywhere."""

from hypothesis import settings

settings.register_profile("unit", database=None, deadline=None, derandomize=True, max_examples=60)
settings.load_profile("unit")
