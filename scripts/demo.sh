# shellcheck shell=bash
# The demo of the quickstart and of `tmuxagents demo`: source this after ground.sh.
#
# The caller sets $demo, its folder; $demo_python, whose folder has the command tmuxagents, too; and $demo_pi.
#
#   shop/        the sample project     tmuxagents  the command, for this demo
#   state/       runs and registry      agent/      pi's folder: it knows the demo model and nothing else
#   model/       port, log and lock of the demo model's server
#   .quickstart  the lock; a folder without it is none of ours
#
# Sockets lie in a folder of their own below /tmp: their paths must be short. Its name follows from the demo's.

demo_sockets=/tmp/tmuxagents-demo-$(printf '%s' "$demo" | sha256sum | head -c 12)
demo_socket=$demo_sockets/tmux-$(id -u)/tmuxagents
demo_scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
demo_pace=1 # how slowly the demo model talks
demo_children=(finder tester guide)

demo_preset() {
  case $1 in
    finder) echo search ;;
    tester) echo tests ;;
    guide) echo docs ;;
  esac
}

demo_task() {
  case $1 in
    finder) echo 'Find what is still to do, and write it into notes/todo.md.' ;;
    tester) echo 'Write tests for prices.py, and run them.' ;;
    guide) echo 'Describe this project for a newcomer, in notes/tour.md.' ;;
  esac
}

demo_made=(notes/todo.md test_prices.py notes/tour.md)

# --- made

demo_make() {
  demo_lock
  make_sockets
  mkdir -p "$demo/model"
  make_command
  (umask 022 && make_shop && make_presets) # presets that others may write are not read
  make_model
}

# Two at once take turns: they share one project. File descriptor 8 holds the lock until the script ends.
demo_lock() {
  local tries=0
  refuse_foreign "$demo" .quickstart
  until mkdir -p "$demo" && is_ours "$demo" && command exec 8>>"$demo/.quickstart" &&
    { flock --nonblock 8 || { say "waiting for another quickstart …" && flock 8; }; } &&
    [ "/proc/$$/fd/8" -ef "$demo/.quickstart" ]; do # else it was taken away while we waited
    ((++tries < 20)) || fail 3 "$demo cannot be written"
  done
}

make_sockets() {
  mkdir -m 700 "$demo_sockets" 2>/dev/null || true
  sockets_are_ours || fail 3 "$demo_sockets belongs to somebody else"
  chmod 700 "$demo_sockets"
}

# Else whoever was faster with that name may listen there, and a tmux client obeys.
sockets_are_ours() { [ -O "$demo_sockets" ] && [ ! -L "$demo_sockets" ]; }

# What the demo's commands need to know, in one place, and nothing of their caller's.
make_command() {
  local demo_python_folder
  demo_python_folder=$(dirname "$demo_python")
  cat >"$demo/tmuxagents.new" <<END
#!/usr/bin/env bash
# tmuxagents, standing in the quickstart's sample project, with its runs, its tmux server and its demo model.
unset "\${!TMUXAGENTS_@}" "\${!PI_@}"
export TMUXAGENTS_HOME=${demo@Q}/state TMUX_TMPDIR=$demo_sockets TMUXAGENTS_SOCKET=$demo_socket
export TMUXAGENTS_PI=${demo_pi@Q} PI_CODING_AGENT_DIR=${demo@Q}/agent PI_OFFLINE=1 PI_TELEMETRY=0
export TMUXAGENTS_DEFAULT_MODEL=demo/hello TMUXAGENTS_KEEP_WINDOWS=all
export PATH=${demo_python_folder@Q}:\$PATH NO_PROXY=127.0.0.1 no_proxy=127.0.0.1
cd ${demo@Q}/shop && exec tmuxagents "\$@"
END
  chmod +x "$demo/tmuxagents.new"
  mv "$demo/tmuxagents.new" "$demo/tmuxagents"
}

# The sample project, as it is at first.
make_shop() {
  local shop=$demo/shop
  mkdir -p "$shop"
  rm -f "${demo_made[@]/#/$shop/}"
  cat >"$shop/README.md" <<'END'
# A corner shop

A sample project for the quickstart of tmuxagents, which writes it anew each time.
END
  cat >"$shop/prices.py" <<'END'
"""What things cost, in cents."""

PRICES = {"apple": 40, "bread": 320, "tea": 450}


def total(basket):
    """Return what a basket costs; a basket says how many of each thing."""
    # TODO: ten per cent off from ten pieces on
    return sum(PRICES[thing] * count for thing, count in basket.items())
END
  cat >"$shop/orders.py" <<'END'
"""Orders, as people write them."""


def basket_of(line):
    """Return the basket of an order such as "3 apple, 1 tea"."""
    # TODO: refuse what the shop does not have
    parts = (part.split() for part in line.split(","))
    return {thing: int(count) for count, thing in parts}
END
}

# Their folder makes the shop a project of its own, not a part of this repository.
make_presets() {
  mkdir -p "$demo/shop/.pi/subagents"
  make_preset finder 'Finds things and writes them down' read,ls,bash,write
  make_preset tester 'Writes tests and runs them' read,bash,write,edit
  make_preset guide 'Describes things for people' read,write
}

# make_preset CHILD DESCRIPTION TOOLS
make_preset() {
  local name
  name=$(demo_preset "$1")
  cat >"$demo/shop/.pi/subagents/$name.md" <<END
---
name: $name
description: $2
model: demo/$1
tools: $3
---
Be brief, and change nothing that you were not asked to change.
END
}

make_model() {
  local tries=0
  until start_model && [ -s "$demo/model/port" ]; do
    ((++tries < 200)) || fail 1 "the demo model does not answer; what it said is in $demo/model/log"
    sleep 0.05
  done
}

# It holds a lock as long as it lives, so there is one; and it lives as long as its port file is there. One that
# an older state of this repository started makes room.
start_model() {
  local model=$demo/model stamp
  stamp=$(cat "$demo_scripts"/{model_server.py,model_turns.py,model_tools.py,model_shapes/chat.py,demo_scripts.json} | sha256sum)
  [ "$(cat "$model/made-from" 2>/dev/null)" = "$stamp" ] || rm -f "$model/port"
  exec 7>>"$model/lock"
  if flock --nonblock 7; then
    rm -f "$model/port"
    printf '%s\n' "$stamp" >"$model/made-from"
    setsid "$demo_python" -B "$demo_scripts/model_server.py" --demo --port-file "$model/port" \
      --agent-dir "$demo/agent" --log "$model/requests.jsonl" --pace "$demo_pace" </dev/null >"$model/log" 2>&1 8>&- 9>&- &
  fi
  exec 7>&-
}

# --- taken away

# Everything that demo_make and what it started have made, and nothing else.
demo_clean() {
  local python
  demo_lock
  rm -f "$demo/model/port"
  if sockets_are_ours && [ -S "$demo_socket" ]; then
    timeout 10 tmux -S "$demo_socket" kill-server >/dev/null 2>&1 || true
  fi
  python=$demo_python
  [ -x "$python" ] || python=$(find_python) || fail 3 "python3 is gone: the demo's processes cannot be found"
  "$python" -B "$demo_scripts/demo_end.py" "$demo" "$demo_sockets" || fail 1 "some processes of the demo would not end"
  ! sockets_are_ours || rm -rf "$demo_sockets"
  find "$demo" -mindepth 1 -maxdepth 1 ! -name .quickstart -exec rm -rf {} +
  rm -f "$demo/.quickstart" # last: it says that the folder is a demo's
  rmdir "$demo"
}
