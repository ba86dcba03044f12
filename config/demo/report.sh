# SPDX-License-Identifier: LGPL-3.0-or-later
# The last screen: who computed what, how jobs met hosts, what became of the batch, what the scheduler looked at. All of it is
# read from this run: the database and the decision log.

# table: tab-separated rows as columns, the first one left-aligned.
table() {
    awk -F '\t' '{ printf "%-33s", $1; for (i = 2; i <= NF; i++) printf " %10s", $i; print "" }'
}

decisions() { cat "$DEMO"/project/log_*/decisions/*.jsonl 2>/dev/null || true; }

# Rows "HOST JOB_CLASS HOST_CLASS" for each job that went out; HOST_CLASS "-": not measured then.
classes_of_sent_jobs() {
    decisions | grep -v '"sent":\[\]' | awk '{
        match($0, /"host":[0-9]+/); host = substr($0, RSTART + 7, RLENGTH - 7)
        n = split(substr($0, index($0, "\"sent\":[")), jobs, /\{"result":/)
        for (i = 2; i <= n; i++) {
            job = "?"; of = "-"
            if (match(jobs[i], /"size_class":[0-9]+/)) job = substr(jobs[i], RSTART + 13, RLENGTH - 13)
            if (match(jobs[i], /"host_size_class":[0-9]+/)) of = substr(jobs[i], RSTART + 18, RLENGTH - 18)
            print host, job, of
        }
    }'
}

report_hosts() {
    printf 'computer\tsize class\tGFLOPS\tresults\tvalid\terrors\taborted\tCPU s\tturnaround\tquick\n' >"$DEMO/log/hosts"
    sql "SELECT CONCAT('host ', h.id, ' (', h.p_ncpus, ' CPU)'), h.id, COALESCE((SELECT ROUND(MAX(1/v.et_avg)/1e9,2) FROM host_app_version v
                 WHERE v.host_id=h.id AND v.et_avg>0),'-'), COUNT(*), SUM(r.validate_state=1), SUM(r.outcome NOT IN (1,5) AND r.exit_status<>202), SUM(r.exit_status=202), ROUND(SUM(r.cpu_time),1),
                CONCAT(ROUND(AVG(IF(r.outcome=1,r.received_time-r.sent_time,NULL))),' s'), IF(h.error_rate>0,'yes','no')
         FROM result r JOIN host h ON h.id=r.hostid GROUP BY h.id ORDER BY 3 DESC" |
        while IFS=$'\t' read -r host id rest; do
            printf '%s\t%s\t%s\n' "$host" "$(classes_of_sent_jobs | awk -v id="$id" '$1 == id { last = $3 } END { print last == "" ? "-" : last }')" "$rest"
        done >>"$DEMO/log/hosts"
    table <"$DEMO/log/hosts"
}

report_sizes() {
    echo "Jobs sent, by their size class and by the size class of the host as it was measured then:"
    classes_of_sent_jobs | awk '
        { n[$3, $2]++; seen[$3] = 1 }
        END {
            print "\tsmall (0)\tmiddle (1)\tlarge (2)"
            split("- 0 1 2", rows, " ")
            name["-"] = "  before size_census knew the host"
            for (i = 0; i < 3; i++) name[i] = "  to hosts of class " i
            for (i = 1; i <= 4; i++) if (seen[rows[i]]) printf "%s\t%d\t%d\t%d\n", name[rows[i]], n[rows[i], 0], n[rows[i], 1], n[rows[i], 2]
        }' | table
}

# When batch_accel first raised something, UNIX time; empty: it never did.
accelerated_at() {
    local line
    line=$(grep -hm1 -E ' [1-9][0-9]* accelerated' "$DEMO"/project/log_*/batch_accel.log 2>/dev/null) || return 0
    date -u -d "${line:0:19}" +%s
}

report_acceleration() {
    local begin end n quick extra since
    read -r begin end <<<"$(sql "SELECT (SELECT MIN(sent_time) FROM result WHERE sent_time>0), CAST(completion_time AS SIGNED) FROM batch WHERE id=$BATCH")"
    since=$(accelerated_at)
    echo "The batch: $(tile_count) workunits, complete $((end - begin)) s after its first job was sent."
    read -r n quick extra <<<"$(sql "SELECT COUNT(DISTINCT w.id), COUNT(DISTINCT IF(h.error_rate>0 AND r.sent_time>=${since:-0},r.id,NULL)),
            SUM(w.target_nresults>w.min_quorum) FROM workunit w JOIN result r ON r.workunitid=w.id LEFT JOIN host h ON h.id=r.hostid WHERE w.priority=1")"
    [ "$n" -gt 0 ] || { echo "  No job had to be accelerated."; return 0; }
    echo "  Accelerated from second $((since - begin)) on: its last $n workunits ($quick of their jobs went to quick hosts, $extra results were asked for once more):"
    sql "SELECT CONCAT('  ', w.name), w.size_class, GROUP_CONCAT(IF(r.sent_time=0, NULL, CONCAT('host ', r.hostid, IF(h.error_rate>0,' (quick)',''),
                ' ', r.sent_time-$begin, '-', IF(r.received_time=0,'',r.received_time-$begin), ' s')) ORDER BY r.sent_time SEPARATOR ', ')
         FROM workunit w JOIN result r ON r.workunitid=w.id LEFT JOIN host h ON h.id=r.hostid WHERE w.priority=1 GROUP BY w.id
         ORDER BY MAX(r.received_time) LIMIT 8" |
        while IFS=$'\t' read -r name class who; do printf '%-22s class %s: %s\n' "$name" "$class" "$who"; done
    ((n <= 8)) || echo "  and $((n - 8)) more"
}

report_scans() {
    decisions | grep '"search":"done"' | awk '
        function number(name) { return match($0, "\"" name "\":[0-9]+") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) + 0 : 0 }
        {
            requests++; slots += number("slots_seen"); fit += number("candidates"); held += number("locked")
            rest = $0
            while (match(rest, /"reason":"[a-z_]+","count":[0-9]+/)) {
                split(substr(rest, RSTART, RLENGTH), part, /["":,]+/)
                count[part[3]] += part[5]
                rest = substr(rest, RSTART + RLENGTH)
            }
        }
        END {
            printf "What the scheduler looked at: %d requests for work, %d slots of the job array, %d times a job that the host could have", requests, slots, fit
            printf ", %d times one that it refused:\n", sum_of(count)
            for (reason in count) printf "  %s %d", reason, count[reason]
            print (held > 0 ? "\n  (and " held " times a slot that another request held)" : "")
        }
        function sum_of(list, name, sum) { for (name in list) sum += list[name]; return sum }'
}

# Where a browser is installed, it draws the status page.
draw_status_page() {
    local browser profile page=$DEMO/project/html/user/status.html
    browser=$(command -v chromium || command -v google-chrome) || return 0
    [ -e "$page" ] || return 0
    profile=$(mktemp -d)
    cp "$page" "$profile/status.html"
    touch "$DEMO/status.png"
    give client "$profile" "$profile/status.html" "$DEMO/status.png"
    as client env HOME="$profile" timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$profile" \
        --window-size=1280,1700 --screenshot="$DEMO/status.png" "file://$profile/status.html" >/dev/null 2>&1 || true
    rm -rf "$profile"
    [ -s "$DEMO/status.png" ] || rm -f "$DEMO/status.png"
}

report_batch() {
    local incomplete problems=""
    echo
    report_hosts
    echo
    report_sizes
    echo
    report_acceleration
    echo
    report_scans
    echo
    [ "$1" -eq 0 ] || return "$1"
    incomplete=$(sql "SELECT COUNT(*) FROM result WHERE server_state<>5")
    # A test that kills servers sets SLUICE_DEMO_DISTURBED: its clients do see errors.
    [ -n "${SLUICE_DEMO_DISTURBED:-}" ] || problems=$(grep -hE 'scheduler reply|Scheduler request failed|\[error\]|Server error' "$DEMO"/log/client?.log || true)
    if [ "$incomplete" -ne 0 ]; then echo "PROBLEM: $incomplete results are not over"; return 1; fi
    if [ -n "$problems" ]; then printf 'PROBLEM: the clients say\n%s\n' "$problems"; return 1; fi
    touch "$DEMO/mandelbrot.png"
    give project "$DEMO/mandelbrot.png"
    in_project "$(SAMPLES)/mandelbrot_batch" join "$DEMO/results" "$DEMO/tiles" "$DEMO/mandelbrot.png" || return 1
    draw_status_page
    cat <<END
The status page:    $(master_url)status.html   (while the demo runs: ./quickstart --keep)$([ ! -e "$DEMO/status.png" ] || printf '\n                    as it was: %s' "$DEMO/status.png")
The picture:        $DEMO/mandelbrot.png
The project:        $DEMO/project   (config.xml, bin/, log_*/ : what each daemon said)
What the job array holds:  $DEMO/project/bin/show_shmem --shape   (while the feeder runs: ./quickstart --keep)
To install Sluice into a project that you have: docs/install.md
END
}
