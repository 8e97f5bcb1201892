#!/usr/bin/env python3
"""A child that writes down what reached it, and ends well."""

import json
import os
import sys

if "--version" in sys.argv or "rpc" in sys.argv:  # what an agent is asked about itself
    other = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripted.py")
    os.execv(sys.executable, [sys.executable, other, *sys.argv[1:]])
record = os.environ["CHILD_RECORD"]
with open(f"{record}.stdin", "wb") as copy:
    copy.write(sys.stdin.buffer.read())
with open("/proc/self/status", encoding="ascii") as status:
    ignored = next(int(line.split()[1], 16) for line in status if line.startswith("SigIgn:"))
umask = os.umask(0)
seen = {
    "argv": sys.argv[1:],
    "environment": dict(os.environ),
    "descriptors": [
        int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")
    ],
    "pid": os.getpid(),
    "session": os.getsid(0),
    "ignored": ignored & 0x7FFFFFFF & ~(1 << 12) & ~(1 << 24),  # Python itself ignores PIPE and XFSZ
    "cwd": os.getcwd(),
    "terminal": any(os.isatty(number) for number in range(3)),
    "umask": umask,
}
with open(f"{record}.echo", "w", encoding="utf-8") as book:
    json.dump(seen, book)
answer = {"role": "assistant", "content": [{"type": "text", "text": "seen"}], "stopReason": "stop"}
for line in ({"type": "message_end", "message": answer}, {"type": "turn_end", "message": answer}):
    print(json.dumps(line))
print(json.dumps({"type": "agent_settled", "aborted": False}))
