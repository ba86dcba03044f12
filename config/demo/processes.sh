# Processes of the demo: each is started in a session of its own (so that Ctrl-C reaches only quickstart, which ends
# them in order) and written down with its start time, so that never another process is signalled.

# The folder may stand elsewhere (see make_demo_folder); the link leads to it.
DEMO=$(readlink -f "$LINK" 2>/dev/null || echo "$LINK")

# Field 22 of /proc/PID/stat: start time in ticks after boot.
start_ticks() { sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# launch NAME LOG COMMAND...: in the background; the pid goes to run/NAME.
launch() {
    local name=$1 log=$2
    shift 2
    setsid "$@" >>"$log" 2>&1 </dev/null &
    local pid=$!
    echo "$pid $(start_ticks "$pid")" >"$DEMO/run/$name"
}

# pid_of NAME: its pid if it still runs.
pid_of() {
    local pid ticks
    read -r pid ticks 2>/dev/null <"$DEMO/run/$1" || return 1
    [ -n "$ticks" ] && [ "$(start_ticks "$pid")" = "$ticks" ] || return 1
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

stop_demo() {
    [ -d "$DEMO/run" ] || return 0
    end_process client1 TERM 20
    end_process client2 TERM 20
    if [ -x "$DEMO/project/bin/stop" ]; then
        (cd "$DEMO/project" && demo_env bin/stop -q >/dev/null 2>&1) || true
    fi
    end_process apache TERM 10
    end_process mariadb TERM 30
    case "$(cat "$DEMO/run/socket" 2>/dev/null)" in /tmp/sluice-demo.*/mysql.sock) rm -rf "$(dirname "$(cat "$DEMO/run/socket")")" ;; esac
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
