#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# run.sh plain|killed SOURCE BUILD: ./quickstart in a temporary folder.
#
# plain   exit status 0, the picture is there, no process and no socket is left behind. Nobody else can use its database. Started
#         by root, nothing of the demo runs as root: database, web server, project and clients have an account each, none
#         of which is in another's group.
# killed  while the clients work: kill -9 of cgi processes, of the feeder, of mariadbd (started again after 10 s) and of the
#         transitioner; the batch still completes, nothing is lost or sent twice, and the other daemons live on.
set -euo pipefail
mode=$1 source=$2 build=$3
folder=$(mktemp -d /var/tmp/sluice-qs.XXXXXX)
chmod 755 "$folder"
export SLUICE_DEMO=$folder/demo SLUICE_BUILD=$build
fail() { echo "FAILED: $*" >&2; tail -50 "$folder/out" >&2; exit 1; }
cleanup() { "$source/quickstart" --stop >/dev/null 2>&1 || true; rm -rf "$folder"; }
trap cleanup EXIT

# eventually COMMAND...: until it succeeds; fails after two minutes.
eventually() {
    local end=$((SECONDS + 120))
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.2
    done
}
demo_processes() { pgrep -f -- "$folder/demo" || true; }

rows=3
if [ "$mode" = killed ]; then
    rows=6  # work enough that something is left to do after each kill
    export SLUICE_DEMO_DISTURBED=1
fi
"$source/quickstart" --keep --rows $rows >"$folder/out" 2>&1 &
quickstart=$!
cd "$folder"  # the demo's accounts may not see the folder that we came from
LINK=$SLUICE_DEMO SOURCE=$source
. "$source/config/demo/account.sh"
. "$source/config/demo/processes.sh"
. "$source/config/demo/servers.sh"
. "$source/config/demo/project.sh"
. "$source/config/demo/watch.sh"
DEMO=$SLUICE_DEMO

# wait_for_batch N: until N workunits are assimilated, or quickstart is over.
wait_for_batch() {
    until [ "$(assimilated 2>/dev/null || echo 0)" -ge "$1" ]; do
        kill -0 "$quickstart" 2>/dev/null || fail "quickstart ended early"
        sleep 0.2
    done
}

# For a while each scheduler is killed some milliseconds after its start, in the middle of whatever it does, until three were.
# The entry cgi-bin/cgi tells by its own name which program it becomes, so the script starts that one.
kill_schedulers() {
    local cgi=$DEMO/project/cgi-bin/cgi list
    list=$folder/killed_schedulers
    : >"$list"
    chmod 666 "$list"
    [ -x "$DEMO/project/sluice/cgi-bin/cgi" ] || fail "no installed cgi"
    cp -p "$cgi" "$folder/cgi.entry"
    cat >"$folder/cgi.killed" <<SCRIPT
#!/bin/bash
"$DEMO/project/sluice/cgi-bin/cgi" <&0 &
sleep 0.0\$((RANDOM % 3))\$((RANDOM % 10))
kill -9 \$! && echo \$! >>"$list"
wait
SCRIPT
    put_cgi "$folder/cgi.killed"
    until [ "$(wc -l <"$list")" -ge 3 ]; do
        kill -0 "$quickstart" 2>/dev/null || fail "quickstart ended before three schedulers were killed"
        sleep 0.2
    done
    put_cgi "$folder/cgi.entry"
    echo "killed $(wc -l <"$list") schedulers"
}

# put_cgi FILE: in place of cgi-bin/cgi, at once.
put_cgi() {
    rm -f "$DEMO/project/cgi-bin/cgi.new"
    install -m 555 "$1" "$DEMO/project/cgi-bin/cgi.new"
    mv -f "$DEMO/project/cgi-bin/cgi.new" "$DEMO/project/cgi-bin/cgi"
}

# What another user of the machine could try while the demo runs. Its volunteers' account stands for them where root started it.
closed_to_others() {
    local socket user
    socket=$(mysql_socket)
    is_root || [ "$(stat -c %a "$(dirname "$socket")")" = 700 ] || fail "others can reach the database's socket"
    for user in root demo mysql nobody sluice-test sluice-test-db sluice-test-web ""; do
        [ "$user" != "$(account_of client)" ] || continue
        if as client mariadb --no-defaults --socket="$socket" --user="$user" -e "SELECT 1" >/dev/null 2>&1; then fail "user '$user' needs no password"; fi
    done
    if sql "SELECT 1 INTO OUTFILE '$folder/outfile'" 2>/dev/null || [ -e "$folder/outfile" ]; then fail "the database writes files"; fi
    [ "$(stat -c %a "$DEMO/run")" = 700 ] || fail "others can change which processes the demo ends"
}

# user_of PID...
user_of() { ps -o user:32= -p "$1" | tr -d ' '; }

# What the uploads' layout must stand: who receives a result isn't who validates it.
accounts_are_apart() {
    local role pid owners
    is_root || return 0
    [ "$(ps -o uid= -p $(demo_processes) | tr -d ' ' | sort -u | grep -cx 0)" -eq 0 ] || fail "processes of the demo run as root"
    for role in db web project client; do
        [ "$(id -Gn "$(account_of $role)")" = "$(account_of $role)" ] || fail "$(account_of $role) is in another group"
    done
    [ "$(user_of "$(pid_of mariadb)")" = sluice-test-db ] || fail "the database has another account"
    [ "$(user_of "$(pid_of apache)")" = sluice-test-web ] || fail "the web server has another account"
    for pid in $(cat "$DEMO"/project/pid_*/*.pid); do
        [ "$(user_of "$pid")" = sluice-test ] || fail "daemon $pid has another account"
    done
    for pid in $CLIENTS; do
        [ "$(user_of "$(pid_of "client$pid")")" = sluice-test-client ] || fail "client $pid has another account"
    done
    owners=$(find "$DEMO/project/upload" -ignore_readdir_race -type f -printf '%u\n' | sort -u)  # file_deleter runs meanwhile
    # What is there belongs to the web server, or came through the resident handler, which is the project's. Some are gone.
    strangers=$(grep -vxE 'sluice-test(-web)?' <<<"$owners" | tr -d '\n' || true)
    [ -z "$strangers" ] || fail "uploads belong to '$strangers'"
    eventually grep -q '\] unlinked ' "$DEMO"/project/log_*/file_deleter.log || fail "file_deleter has deleted no upload"
}

if [ "$mode" = killed ]; then
    wait_for_batch 1
    kill_schedulers
    kill -9 "$(cat "$DEMO"/project/pid_*/feeder.pid)"; echo "killed the feeder"
    kill -9 "$(cat "$DEMO"/project/pid_*/transitioner.pid)"; echo "killed the transitioner"
    others=$(cat "$DEMO"/project/pid_*/{size_regulator,sample_bitwise_validator,script_assimilator}.pid | tr '\n' ' ')
    wait_for_batch $(($(assimilated) + 2))
    kill -9 "$(pid_of mariadb)"; echo "killed mariadbd"
    sleep 10
    run_mariadb
    [ "$(assimilated)" -lt "$(tile_count)" ] || fail "the batch was over before mariadbd was killed: this run shows nothing"
    for pid in $others; do kill -0 "$pid" 2>/dev/null || fail "daemon $pid did not outlive the database"; done
fi

wait "$quickstart" || fail "quickstart's exit status is not 0"
closed_to_others
accounts_are_apart
cat "$folder/out" | tail -25
[ -s "$DEMO/mandelbrot.png" ] || fail "no picture"
[ "$(sql "SELECT COUNT(*) FROM workunit WHERE assimilate_state=2 AND error_mask=0 AND canonical_resultid>0")" -eq "$(tile_count)" ] || fail "not every workunit has its canonical result"
[ "$(sql "SELECT COUNT(*) FROM result WHERE server_state<>5")" -eq 0 ] || fail "results are left that are not over"
# Every result that arrived could be read, and has its credit.
# An instance that was asked for once more may come in last: the validator looks each five seconds.
for ((i = 0; i < 120; i++)); do
    wrong=$(sql "SELECT name, outcome, validate_state, granted_credit, sent_time, received_time, report_deadline, file_delete_state FROM result WHERE outcome=6 OR outcome=1 AND (validate_state<>1 OR granted_credit<=0)")
    [ -n "$wrong" ] || break
    sleep 1
done
if [ -n "$wrong" ]; then
    for name in $(cut -f1 <<<"$wrong"); do grep -h "${name%_*}" "$DEMO"/project/log_*/*.log; done | sort -u >&2
    fail "not valid and credited: name, outcome, validate_state, credit, sent, received, deadline, file_delete_state: $wrong"
fi
# Sent twice would be: two instances of a workunit on one host, or a client that got one it had.
[ "$(sql "SELECT COUNT(*) FROM (SELECT workunitid, hostid FROM result WHERE hostid<>0 AND outcome=1 GROUP BY 1,2 HAVING COUNT(*)>1) t")" -eq 0 ] || fail "a host got a workunit twice"
if grep -hE 'Already have task|already have' "$DEMO"/log/client?.log; then fail "a job was sent twice"; fi
clients=$(for client in $CLIENTS; do pid_of "client$client"; done)
[ "$(wc -w <<<"$clients")" -eq "$(wc -w <<<"$CLIENTS")" ] || fail "a client has ended"
"$source/quickstart" --stop >/dev/null
# Children of what was ended need a moment.
none_is_left() { left=$(demo_processes); [ -z "$left" ]; }
eventually none_is_left || fail "processes are left: $(ps -o args= -p $left)"
for pid in $clients; do
    [ -z "$(shared_memory_of_client "$pid")" ] || fail "shared memory of client $pid is left"
done
