# The line of progress, and the report at the end.

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
        ((SECONDS % 10 == 0)) && { in_project bin/start --cron >>"$DEMO/log/cron.log" 2>&1 || true; }
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
        [ "$done_wus" -ge "$(tile_count)" ] && { echo; return 0; }
        if ((SECONDS - WATCH_START > LIMIT)); then echo; echo "quickstart: gave up after $LIMIT s" >&2; return 1; fi
        local client
        for client in 1 2; do
            pid_of "client$client" >/dev/null || { echo; echo "quickstart: client $client ended; see $DEMO/client$client/" >&2; return 1; }
            # A client that found nothing backs off for ten minutes; a volunteer would press "update", so do we.
            if ((SECONDS - last_change > 30 && (SECONDS - last_change) % 15 == 0)); then nudge_client "$client"; fi
        done
        sleep 1
    done
}

report_batch() {
    local incomplete problems=""
    echo
    printf '%-28s %10s %10s %10s %10s\n' "host" "results" "valid" "errors" "CPU s"
    sql "SELECT CONCAT('client ', h.id, ' (', h.p_ncpus, ' CPU)'), COUNT(*), SUM(r.validate_state=1), SUM(r.outcome NOT IN (1,5)),
                ROUND(SUM(r.cpu_time),1) FROM result r JOIN host h ON h.id=r.hostid GROUP BY h.id" |
        while IFS=$'\t' read -r a b c d e; do printf '%-28s %10s %10s %10s %10s\n' "$a" "$b" "$c" "$d" "$e"; done
    echo
    printf '%-28s %10s %10s %10s %10s\n' "size class" "workunits" "instances" "quorum 2" "mean s"
    sql "SELECT CONCAT('class ', w.size_class), COUNT(DISTINCT w.id), COUNT(r.id), COUNT(DISTINCT IF(w.min_quorum=2,w.id,NULL)),
                ROUND(AVG(IF(r.outcome=1,r.elapsed_time,NULL)),2)
         FROM workunit w LEFT JOIN result r ON r.workunitid=w.id GROUP BY w.size_class" |
        while IFS=$'\t' read -r a b c d e; do printf '%-28s %10s %10s %10s %10s\n' "$a" "$b" "$c" "$d" "$e"; done
    echo
    [ "$1" -eq 0 ] || return "$1"
    incomplete=$(sql "SELECT COUNT(*) FROM result WHERE server_state<>5")
    # A test that kills servers sets SLUICE_DEMO_DISTURBED: its clients do see errors.
    [ -n "${SLUICE_DEMO_DISTURBED:-}" ] || problems=$(grep -hE 'scheduler reply|Scheduler request failed|\[error\]|Server error' "$DEMO"/client?/client.log || true)
    if [ "$incomplete" -ne 0 ]; then echo "PROBLEM: $incomplete results are not over"; return 1; fi
    if [ -n "$problems" ]; then printf 'PROBLEM: the clients say\n%s\n' "$problems"; return 1; fi
    "$DEMO/sluice/share/sluice/samples/mandelbrot/mandelbrot_batch" join "$DEMO/results" "$DEMO/tiles" "$DEMO/mandelbrot.png" || return 1
    cat <<END
The picture:        $DEMO/mandelbrot.png
The project:        $DEMO/project   (config.xml, bin/, log_*/ : what each daemon said)
What the job array holds:  $DEMO/project/bin/show_shmem --shape   (while the feeder runs: ./quickstart --keep)
To install Sluice into a project that you have: docs/install.md
END
}

show_status() {
    pid_of mariadb >/dev/null || { echo "The demo is not running."; return 1; }
    WATCH_START=$SECONDS
    progress_line
    echo
    demo_env "$DEMO/project/bin/status" || true
}
