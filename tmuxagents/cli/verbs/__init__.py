"""The verbs of the command line: one module a family."""
