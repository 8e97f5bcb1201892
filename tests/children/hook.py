"""An onEnd command: writes down what it is told. FILE [SLEEP SECONDS]."""

import os
import sys
import time

line = f"{os.environ['TMUXAGENTS_RUN']} {os.environ['TMUXAGENTS_STATUS']}\n"
handle = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
os.write(handle, line.encode())
if len(sys.argv) > 2:
    os.write(handle, f"pid {os.getpid()}\n".encode())
    time.sleep(float(sys.argv[2]))
