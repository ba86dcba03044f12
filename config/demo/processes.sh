# SPDX-License-Identifier: LGPL-3.0-or-later
# Processes of the demo: each is started in a session of its own (so that Ctrl-C reaches only quickstart, which ends
# them in order) and written down with its start time, so that never another process is signalled.

# The folder may stand elsewhere (see make_demo_folder); the link leads to it.
DEMO=$(readlink -f "$LINK" 2>/dev/null || echo "$LINK")

CLIENTS="1 2 3"

# start_ticks PID: sets TICKS to field 22 of /proc/PID/stat, its start time in ticks after boot; empty if there is none. No
# child process is needed: Ctrl-C would end it too.
start_ticks() {
    local stat fields
    TICKS=
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
    read -r -a fields <<<"${stat##*) }"
    TICKS=${fields[19]}
}

# What a signal does while nothing is being started: the EXIT trap, if there is one, ends everything.
end_on_signals() {
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
}

# launch NAME LOG COMMAND...: in the background; the pid goes to run/NAME. A signal that arrives in between waits until it
# is written down, otherwise nobody would end the process. No child of ours stands between the two: Ctrl-C ends children
# too, and half of what one was to say would be taken for the whole.
launch() {
    local name=$1 log=$2 pending="" signal
    shift 2
    for signal in INT TERM HUP; do trap "pending=$signal" "$signal"; done
    setsid "$@" >>"$log" 2>&1 </dev/null &
    start_ticks "$!"
    echo "$! $TICKS" >"$DEMO/run/$name"
    end_on_signals
    if [ -n "$pending" ]; then kill "-$pending" "$BASHPID"; fi
}

# pid_of NAME: its pid if it still runs.
pid_of() {
    local pid ticks
    read -r pid ticks 2>/dev/null <"$DEMO/run/$1" || return 1
    start_ticks "$pid"
    [ -n "$ticks" ] && [ "$TICKS" = "$ticks" ] || return 1
    echo "$pid"
}

# end_process NAME [SIGNAL [SECONDS]]: SIGNAL, wait, SIGKILL if it must be.
end_process() {
    local pid i
    pid=$(pid_of "$1") || { rm -f "$DEMO/run/$1"; return 0; }
    kill "-${2:-TERM}" "$pid" 2>/dev/null || true
    for ((i = 0; i < ${3:-15} * 10; i++)); do
        pid_of "$1" >/dev/null || break
        sleep 0.1
    done
    if pid=$(pid_of "$1"); then kill -KILL "$pid" 2>/dev/null || true; fi
    rm -f "$DEMO/run/$1"
}

# shared_memory_of_client PID: ids. The account counts, too: another program's memory may stay after that program has
# ended, and a client may later get its pid.
shared_memory_of_client() {
    awk -v pid="$1" -v uid="$(id -u "$(account_of client)")" '$5 == pid && $8 == uid { print $2 }' /proc/sysvipc/shm
}

# end_client N: with the shared memory that it talked to its jobs through, which outlives it if it is killed.
end_client() {
    local pid
    pid=$(pid_of "client$1") || pid=
    end_process "client$1" TERM 20
    [ -z "$pid" ] || shared_memory_of_client "$pid" | as client xargs -r -n 1 ipcrm -m || true
}

end_demo() {
    [ -d "$DEMO/run" ] || return 0
    local client sockets
    for client in $CLIENTS; do end_client "$client"; done
    if [ -x "$DEMO/project/bin/stop" ]; then in_project bin/stop -q >/dev/null 2>&1 || true; fi
    end_process apache TERM 10
    end_process mariadb TERM 30
    sockets=$(cat "$DEMO/run/sockets" 2>/dev/null) || return 0
    case "$sockets" in /tmp/sluice-demo.*) rm -rf "$sockets" ;; esac
}

remove_demo() {
    local real
    if [ -L "$LINK" ]; then
        real=$(readlink -f "$LINK")
        rm -f "$LINK"
        case "$real" in /var/tmp/sluice-demo.*) rm -rf "$real" ;; esac
    elif [ -e "$LINK" ]; then
        # Only a folder that an earlier run made.
        [ -e "$LINK/.sluice-demo" ] || { echo "quickstart: ./demo exists and is not a demo of Sluice: move it away" >&2; return 1; }
        rm -rf "$LINK"
    fi
}
