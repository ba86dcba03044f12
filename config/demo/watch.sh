# SPDX-License-Identifier: LGPL-3.0-or-later
# The line of progress.

LIMIT=900  # s; the batch takes about a minute of computing

count_states() {
    sql "SELECT SUM(server_state=1), SUM(server_state=2), SUM(server_state=4), SUM(server_state=5 AND outcome=1),
                SUM(server_state=5 AND outcome NOT IN (0,1,5)) FROM result" | tr '\t' ' ' | sed 's/NULL/0/g'
}
assimilated() { sql "SELECT COUNT(*) FROM workunit WHERE assimilate_state=2"; }

progress_line() {
    local inactive unsent running success errors done_wus total eta="-"
    read -r inactive unsent running success errors <<<"$(count_states)"
    done_wus=$(assimilated)
    total=$(tile_count)
    # By results: workunits wait for their quorum, and say little in the first minute.
    if [ "$success" -gt 0 ]; then eta="$(((SECONDS - WATCH_START) * (inactive + unsent + running) / success)) s"; fi
    printf 'inactive %s  unsent %s  in progress %s  returned %s  errors %s | workunits done %s/%s | %s s, about %s left' \
        "$inactive" "$unsent" "$running" "$success" "$errors" "$done_wus" "$total" "$((SECONDS - WATCH_START))" "$eta"
}

# 0 when every workunit is assimilated; 1 when time ran out or something died.
watch_batch() {
    WATCH_START=$SECONDS
    local last_done=-1 last_change=$SECONDS done_wus line answered=$SECONDS
    while :; do
        # What cron does in a real project, every five minutes there: dead daemons are started again, tasks run.
        ((SECONDS % 4 == 0)) && { in_project bin/start --cron >>"$DEMO/log/cron.log" 2>&1 || true; }
        if ! done_wus=$(assimilated 2>/dev/null); then
            ((SECONDS - answered > 60)) && { echo; echo "quickstart: the database is gone; see $DEMO/log/mariadb.log" >&2; return 1; }
            sleep 1
            continue
        fi
        answered=$SECONDS
        [ "$done_wus" != "$last_done" ] && { last_done=$done_wus; last_change=$SECONDS; }
        if line=$(progress_line 2>/dev/null); then
            if [ -t 1 ]; then printf '\r\033[K%s' "$line"; elif ((SECONDS % 10 == 0)); then echo "$line"; fi
        fi
        [ "$done_wus" -ge "$(tile_count)" ] && { settle; echo; return 0; }
        if ((SECONDS - WATCH_START > LIMIT)); then echo; echo "quickstart: gave up after $LIMIT s" >&2; return 1; fi
        local client
        for client in $CLIENTS; do
            pid_of "client$client" >/dev/null || { echo; echo "quickstart: client $client ended; see $DEMO/log/client$client.log" >&2; return 1; }
            # A client that found nothing backs off for ten minutes; a volunteer would press "update", so do we.
            if ((SECONDS - last_change > 6 && (SECONDS - last_change) % 6 == 0)); then nudge_client "$client"; fi
        done
        sleep 1
    done
}

# Every workunit is done: copies that nobody needs any more are given up by the clients, and the batch is noted as over.
settle() {
    local i client
    for ((i = 0; i < 90; i++)); do
        [ "$(sql "SELECT COUNT(*) FROM result WHERE server_state<>5")" = 0 ] && [ "$(sql "SELECT state FROM batch WHERE id=$BATCH")" = 2 ] && return 0
        ((i % 5 == 0)) && for client in $CLIENTS; do nudge_client "$client"; done
        sleep 1
    done
}

show_status() {
    pid_of mariadb >/dev/null || { echo "The demo is not running."; return 1; }
    WATCH_START=$SECONDS
    progress_line
    echo
    in_project bin/status || true
}
