# shellcheck shell=bash
# What the quickstart and `tmuxagents demo` show: three children at work. Source this after demo.sh.
#
# The caller sets $here, the folder that paths are shown from, and $demo_way, the command that shows the demo.

patience_s=120
ids=()
has_launched=''

# demo_show: make the demo, have the children work, and show what came of it.
demo_show() {
  choose_looks
  trap 'leave 130' INT
  trap 'leave 143' TERM HUP
  trap ended EXIT
  printf '%s\n' "${bold}tmuxagents: three children at work, each in a tmux window of its own$plain"
  demo_prepare
  demo_make
  printf '%s\n' '' \
    "  agent    $(demo_agent)" \
    "  model    a demo model on this machine: it plays back scripts, needs no key and understands nothing" \
    "  project  $(short "$demo/shop")" ''
  launch_children
  watch_children
  show_answer
  show_files
  show_demo
}

# --- looks

choose_looks() {
  bold='' dim='' green='' red='' plain='' hide_cursor='' show_cursor='' columns=100 on_terminal=''
  [ -t 1 ] || return 0
  on_terminal=yes
  columns=$(tput cols 2>/dev/null) || columns=80
  [ "${TERM:-dumb}" != dumb ] || return 0
  hide_cursor=$'\e[?25l' show_cursor=$'\e[?25h'
  [ -z "${NO_COLOR-}" ] || return 0
  bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' red=$'\e[31m' plain=$'\e[m'
}

# A path as one would type it here.
short() {
  case $1 in
    "$here"/*) printf '%q' "${1#"$here"/}" ;;
    *) printf '%q' "$1" ;;
  esac
}

# Who finds that the terminal has gone before the signal of it comes leaves by that signal's way, too.
ended() {
  [ -z "$on_terminal" ] || [ -t 1 ] || leave 143
  printf %s "$show_cursor"
}

typed() { printf '%s\n' "$dim\$$plain $bold$1$plain"; }

leave() {
  trap - INT TERM EXIT
  trap '' HUP PIPE
  set +e # nobody may be there any more to hear it, and the children are to go all the same
  printf %s "$show_cursor" 2>/dev/null
  say "
stopping …"
  [ -z "$has_launched" ] || stop_those_left # by name: of the one that is just being launched there is no id
  say "stopped; run it again, or take everything away with $demo_way --clean"
  exit "$1"
}

# --- the children

# own VERB ARGUMENT...: the command of the demo. It gets none of our locks.
own() { "$demo/tmuxagents" "$@" 7>&- 8>&- 9>&-; }

launch_children() {
  local name preset task id receipt=$demo/receipt last=()
  stop_those_left
  has_launched=yes
  [ ! -e "$demo/ids" ] || mapfile -t last <"$demo/ids"
  for name in "${demo_children[@]}"; do
    preset=$(demo_preset "$name")
    task=$(demo_task "$name")
    typed "tmuxagents launch -p $preset --name $name \"$task\""
    id=$(own launch -p "$preset" --name "$name" "$task" 2>"$receipt") || {
      cat "$receipt" >&2
      fail 1 "$name could not be launched"
    }
    ids+=("$id")
    echo "$id" >>"$demo/ids"
  done
  show_status_line
  forget "${last[@]}"
  printf '\n'
}

# A quickstart that was killed may have left children at work.
stop_those_left() {
  local name
  for name in "${demo_children[@]}"; do
    own stop "$name" >/dev/null 2>&1 || true
  done
}

# forget RUN...: the children of the quickstart before, now that there are others to look at.
forget() {
  [ $# -eq 0 ] || own prune "$@" >/dev/null 2>&1 || true
  printf '%s\n' "${ids[@]}" >"$demo/ids"
}

# For those who attach; the server is the demo's own.
show_status_line() {
  tmux -S "$demo_socket" set -g status-left '' \; set -g status-right-length 60 \; \
    set -g status-right '#{E:@tmuxagents_status} ' 2>/dev/null || true
}

watch_children() {
  local status=0
  if [ -n "$hide_cursor" ]; then
    typed 'tmuxagents poll'
    redraw_until_ended || status=$?
  else
    typed 'tmuxagents poll --follow'
    own poll --follow --wait --timeout "$patience_s" "${ids[@]}" || status=$?
  fi
  [ "$status" -eq 0 ] || explain "$status"
  printf '\n'
}

redraw_until_ended() {
  local waiting status=0 drawn=0
  own wait --timeout "$patience_s" "${ids[@]}" >/dev/null 2>&1 &
  waiting=$!
  printf %s "$hide_cursor"
  draw
  while kill -0 "$waiting" 2>/dev/null; do
    sleep 0.3
    draw
  done
  wait "$waiting" || status=$?
  draw
  printf %s "$show_cursor"
  return "$status"
}

# The table, over the one of $drawn lines before.
draw() {
  local lines line
  mapfile -t lines < <(own poll "${ids[@]}" 2>/dev/null)
  [ "$drawn" -eq 0 ] || printf '\e[%dA' "$drawn"
  drawn=${#lines[@]}
  for line in "${lines[@]}"; do
    line=${line:0:columns-1}
    line=${line/ completed /" ${green}completed$plain "}
    line=${line/ failed /" ${red}failed$plain "}
    printf '%s\e[K\n' "$line"
  done
}

# explain STATUS: what became of those that did not complete.
explain() {
  local id
  [ "$1" -ne 124 ] || own stop "${ids[@]}" >/dev/null || true
  for id in "${ids[@]}"; do
    own wait --timeout 1 "$id" >/dev/null || own transcript "$id" | tail -n 3 >&2
  done
  fail 1 "not all three completed; $demo holds what is known of it"
}

# --- what came of it

show_answer() {
  typed "tmuxagents output finder"
  own output "${ids[0]}"
  printf '\n'
}

show_files() {
  local file todo
  cd "$demo/shop"
  for file in "${demo_made[@]}"; do
    [ -s "$file" ] || fail 1 "$demo/shop/$file was not written"
  done
  # What the finder found is what there is.
  todo=$(grep -rn --include='*.py' 'TODO: ' .)
  [ "$(grep TODO notes/todo.md | sort)" = "$(sort <<<"$todo")" ] || fail 1 "notes/todo.md is not what it should be"
  printf '%s\n' "They wrote ${demo_made[*]} in $(short "$demo/shop")." ''
}

show_demo() {
  local own_command
  own_command=$(short "$demo/tmuxagents")
  printf '%s\n' \
    "${bold}Look around$plain" \
    "  $own_command attach finder" \
    "      ${dim}its window; Ctrl-b d leaves it again$plain" \
    "  $own_command poll --all" \
    "  $demo_way --clean" \
    "      ${dim}takes everything away that this command has made$plain" \
    '' \
    "${bold}Go on in a project of yours, with models of yours$plain"
}
