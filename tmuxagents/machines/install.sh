# Makes a private environment on a far machine from the archive on stdin, whole or not at all. It changes nothing
# outside the folder $base.
#
# Set before it: python, base, version, launcher (the text of the program that people and tmuxagents call).

set -eu
umask 077
highest= there=$base # the highest folder that is made here
while [ ! -d "$there" ]; do highest=$there there=${there%/*}; done
mkdir -p "$base"
for old in "$base"/.making-*; do # left by installations that were killed
  if [ -d "$old" ] && ! kill -0 "${old##*-}" 2>/dev/null; then rm -rf "$old"; fi
done
making=$base/.making-$$
former=$base/.making-former-$$
leave() {
  rm -rf "$making" "$former"
  there=$base
  while [ -n "$highest" ] && rmdir "$there" 2>/dev/null && [ "$there" != "$highest" ]; do there=${there%/*}; done
  :
}
trap leave EXIT
trap 'exit 1' HUP INT TERM
"$python" -I -m venv --without-pip "$making" </dev/null
"$making/bin/python" -I -W ignore -c '
import sys, sysconfig, tarfile
with tarfile.open(fileobj=sys.stdin.buffer, mode="r|gz") as archive:
    archive.extractall(sysconfig.get_path("purelib"))
'
printf '%s' "$launcher" >"$making/tmuxagents"
chmod 755 "$making/tmuxagents"
# Everything that a run, its window, its watcher and the tools import, before anybody relies on it.
"$making/bin/python" -I -c '
import tmuxagents.cli.group, tmuxagents.top.app, tmuxagents.tmux.library, tmuxagents.watcher.run
import tmuxagents.presets.survey, tmuxagents.layouts.opening, tmuxagents.mcp.server
' </dev/null
"$python" -I -c '
import os, sys
making, there, former = sys.argv[1:]
if os.path.lexists(there):
    os.rename(there, former)
os.rename(making, there)
' "$making" "$base/$version" "$former" </dev/null
