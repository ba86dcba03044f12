#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# launch.sh SOURCE [ROUNDS]: whenever quickstart is told to end, in the middle of starting a process too, that process is written
# down, so that it is ended. Many shells that start processes get SIGTERM (with all their children, as Ctrl-C does) at
# random moments.
set -euo pipefail
source=$1
rounds=${2:-12}
folder=$(mktemp -d)
tag=$$$RANDOM
left() { pgrep -f -- "^sleep 98765.$tag" || true; }
cleanup() { for pid in $(left); do kill "$pid" 2>/dev/null || true; done; rm -rf "$folder"; }
trap cleanup EXIT
LINK=$folder
. "$source/config/demo/processes.sh"
started=0
for ((round = 0; round < rounds; round++)); do
    mkdir -p "$folder/run"
    setsid bash -c '
        set -euo pipefail
        LINK=$2
        . "$1/config/demo/processes.sh"
        end_on_signals
        for ((n = 0; n < 100; n++)); do launch "p$n" /dev/null sleep "98765.$3"; done' bash "$source" "$folder" "$tag" &
    shell=$!
    until [ -e "$folder/run/p2" ]; do kill -0 "$shell" 2>/dev/null || break; sleep 0.01; done
    sleep "0.00$((RANDOM % 10))$((RANDOM % 10))"
    kill -TERM -- "-$shell" 2>/dev/null || true
    wait "$shell" && status=0 || status=$?
    case "$status" in 0 | 143) ;; *) echo "FAILED: round $round ended with status $status" >&2; exit 1 ;; esac
    started=$((started + $(ls "$folder/run" | wc -l)))
    for file in "$folder"/run/*; do [ -e "$file" ] && end_process "${file##*/}"; done
    [ -z "$(left)" ] || { echo "FAILED: round $round left processes that nobody knows: $(left | tr '\n' ' ')" >&2; exit 1; }
done
[ "$started" -ge $((3 * rounds)) ] || { echo "FAILED: only $started processes were started: this showed nothing" >&2; exit 1; }
echo "$started processes were started and ended"
