"""The process inside the window: it starts the child, tells what it does, ends it, and writes its result.

`main` in `wrapper/run.py`; started by `_wrap.py`, which keeps the interpreter small.
"""
