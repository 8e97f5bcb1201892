# shellcheck shell=bash
# What scripts say, and which folders they may fill: source this first.

say() { printf '%s\n' "$*" >&2; }

# fail STATUS SENTENCE
fail() {
  say "${0##*/}: $2"
  exit "$1"
}

# refuse_foreign FOLDER MARK: we would fill it, and may take it away, with all that is in it.
refuse_foreign() {
  [ ! -e "$1" ] || is_ours "$1" || fail 3 "$1 is no folder of yours"
  [ ! -e "$1" ] || [ -e "$1/$2" ] || [ -z "$(ls -A "$1")" ] || fail 2 "$1 holds something else; name an empty folder"
}

# is_ours FOLDER: it is no link, and belongs to us or to whom these scripts belong. Asked again when it was made: in a
# folder such as /tmp others may be faster.
is_ours() {
  [ -d "$1" ] && [ ! -L "$1" ] && { [ -O "$1" ] || [ "$(stat -c %u "$1")" = "$(stat -c %u "${BASH_SOURCE[0]}")" ]; }
}
