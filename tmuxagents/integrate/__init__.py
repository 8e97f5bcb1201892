"""Our part of other programs' configuration: put in, and taken out to the byte."""
