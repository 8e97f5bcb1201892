"""Each edge against the real thing. A package, since core has modules, and so tests, of the same names."""
