#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# page.sh SOURCE BUILD: a new project as docs/setting_up_a_project.md sets it up. Its blocks of commands run word by word and its
# files are written as they stand there, then a real client computes jobs while the scheduler runs in each way of docs/install.md.
# Every result must arrive, be valid, have its credit and be assimilated. Started by root, database, web server, project and
# client have an account each (config/test-accounts); started by another user, all of it is that user's.
#
# What must not touch the machine is replaced, and nothing else: the words in on_this_machine, and the programs below it.
set -Eeuo pipefail
source=$1 build=$2
umask 022
PATH=$PATH:/usr/sbin:/sbin
folder=$(mktemp -d /var/tmp/sluice-page.XXXXXX)
chmod 755 "$folder"
LINK=$folder/demo SOURCE=$source BUILD=$build CLIENTS=1
DEMO=$LINK
. "$source/config/demo/account.sh"
. "$source/config/demo/processes.sh"
. "$source/config/demo/servers.sh"
. "$source/config/demo/project.sh"
page=$source/docs/setting_up_a_project.md
PLACE=project  # where the project is, below $DEMO: the page moves it
in_project() { (cd "$DEMO/$PLACE" && as project env BOINC_PROJECT_DIR="$DEMO/$PLACE" MYSQL_UNIX_PORT="$(mysql_socket)" "$@"); }

fail() {
    echo "FAILED: $*" >&2
    tail -n 20 "$DEMO"/log/{client1.log,block*} "$DEMO"/web/error.log "$DEMO"/project/log_*/{validator_render,assimilator_render,file_upload_handler}.log >&2 || true
    exit 1
}
cleanup() {
    in_project bin/stop -q >/dev/null 2>&1 || true  # wherever it is
    end_demo >/dev/null 2>&1 || true
    rm -rf "$folder"
}
trap cleanup EXIT
NOW=
trap 'fail "${NOW:-line $LINENO}"' ERR
end_on_signals

# Accounts, folders, the host's name, and where the database is.
on_this_machine() {
    sed -e "s|/srv/boinc/tiles|$DEMO/project|g; s|/srv/boinc|$DEMO/home|g; s|/opt/sluice|$DEMO/sluice|g; s|/etc/apache2|$DEMO/apache|g" \
        -e "s|http://tiles.example.org|http://127.0.0.1:$PORT|g; s|boincadm|$(account_of project)|g" \
        -e "s|--db_admin root --db_user tiles|--db_admin $(id -un) --db_user tiles --db_socket $(mysql_socket) --web_user $(account_of web)|" \
        -e "s|x86_64-pc-linux-gnu|$(platform)|g"
}
cmake() { if [ "$1" = --install ]; then command cmake --install "$BUILD" "${@:3}" >/dev/null; fi; }  # what is tested is built
ninja() { :; }
sudo() {
    if [ "$1" != -u ]; then "$@"; return; fi
    shift 2
    as project "$@"
}
adduser() { ! is_root || command adduser --quiet "$@"; }  # it is there: config/test-accounts
a2enmod() {
    local module
    for module in "$@"; do
        [ "$module" != proxy_fcgi ] || enable_module proxy
        enable_module "$module"
    done
}
systemctl() { [[ "$*" =~ ^(restart|reload)\ apache2$ ]] && end_process apache && start_apache; }
# crontab -u USER FILE: its line is what `run_cron` runs.
crontab() { grep -v '^#' "$3" >"$DEMO/crontab"; }
run_cron() { as project sh -c "$(sed -n 's|^\*/5 \* \* \* \* ||p' "$DEMO/crontab")"; }

# block N LANGUAGE: the page's N-th block of that kind.
block() {
    awk -v n="$1" -v language="$2" '
        /^```/ { if (inside) { inside = 0 } else { inside = 1; here = substr($0, 4) == language && ++seen == n }; next }
        inside && here { print; found = 1 }
        END { exit !found }' "$page" | on_this_machine
}
blocks() { grep -c "^\`\`\`$1\$" "$page"; }
# run_block N: in this shell, which goes where the page goes. What it prints is kept.
run_block() {
    local commands
    commands=$(block "$1" sh) || fail "the page has no block of commands number $1"
    NOW="the page's block $1: $commands"
    eval "$commands" >"$DEMO/log/block_$1"
    NOW=
}
# move_project PLACE: the indented commands of the section on that; a second time it goes back where it was.
move_project() {
    local commands from=$DEMO/$PLACE
    commands=$(awk '/^## / { inside = /Move a project/ }; inside && /^    / { print; found = 1 }; END { exit !found }' "$page")
    [ "$1" = home/mosaic ] || commands=$(sed 's|/srv/boinc/tiles|\n|g; s|/srv/boinc/mosaic|/srv/boinc/tiles|g; s|\n|/srv/boinc/mosaic|g' <<<"$commands")
    commands=$(on_this_machine <<<"$commands")
    NOW="the page's move to $1: $commands"
    eval "$commands" >"$DEMO/log/block_move"
    NOW=
    PLACE=$1
    cd "$DEMO"
    [ ! -e "$from" ] || fail "$from is still there"
    in_project bin/status >/dev/null || fail "not every daemon runs after the move to $1"
    ! grep -rIlF --exclude-dir='log_*' "$from" "$DEMO/$PLACE" || fail "these files name the old folder"
    run_cron
}
# into FILE BEFORE TEXT: TEXT stands before a line of that file, which stays the same file.
into() {
    local all
    all=$(awk -v before="$2" -v text="$3" 'index($0, before) && !done { print text; done = 1 } { print }' "$1")
    as project tee "$1" <<<"$all" >/dev/null
}
master_url() { echo "http://127.0.0.1:$PORT/tiles/"; }
assimilated() { ls "$DEMO/$PLACE/results" | wc -l; }
sql() { client --batch --skip-column-names tiles -e "$1"; }

# wait_for_assimilated N NAME
wait_for_assimilated() {
    local i
    for ((i = 0; i < 3000; i++)); do
        [ "$(assimilated)" -lt "$1" ] || break
        ((i % 20 != 0)) || nudge_client 1
        sleep 0.1
    done
    [ "$(assimilated)" -eq "$1" ] || fail "$2: $(assimilated) of $1 workunits are assimilated"
    [ "$(sql "SELECT COUNT(*) FROM result WHERE outcome=1 AND validate_state=1 AND granted_credit>0")" -eq "$1" ] ||
        fail "$2: not every result is valid and credited"
    [ "$(sql "SELECT COUNT(*) FROM result WHERE server_state<>5 OR outcome<>1")" -eq 0 ] || fail "$2: a result failed"
    echo "$2: $1 results are valid, credited and assimilated"
}
# compute NAME: two more jobs, through all of it.
compute() {
    local i
    for i in 1 2; do
        in_project cp "$DEMO/home/tile_1" "$1_$i"
        in_project bin/stage_file "$1_$i" >/dev/null
        in_project bin/create_work --appname render --wu_name "$1_$i" "$1_$i" >/dev/null
    done
    wait_for_assimilated $(($(assimilated) + 2)) "$1"
}
# served_by ROLE|nobody: who runs the process that answered the last request; nobody: it has ended with it, if not at once.
served_by() {
    local pid user i
    pid=$(grep -oE 'PID=[0-9]+' "$DEMO/$PLACE"/log_*/scheduler.log | tail -1)
    [ "$1" = nobody ] || set -- "$(account_of "$1")"
    for ((i = 0; i < 600; i++)); do
        user=$(ps -o user:32= -p "${pid#PID=}" | tr -d ' ') || user=nobody
        [ "$user" != "$1" ] || return 0
        [ "$1" = nobody ] || break
        sleep 0.2
    done
    fail "the last request was answered by a process of $user, not of $1"
}
# apache_with FRAGMENT
apache_with() {
    rm "$DEMO"/apache/conf-enabled/*
    ln -s "$DEMO/project/$1" "$DEMO/apache/conf-enabled/"
    systemctl restart apache2
}
# edit SED_ARGUMENT...: config.xml, in the same file.
edit() {
    local text
    text=$(sed "$@" "$DEMO/project/config.xml")
    in_project tee config.xml <<<"$text" >/dev/null
}

! is_root || "$source/config/test-accounts"
make_demo_folder
mkdir -p home/render
PORT=$(free_port)
echo "$PORT" >run/port
start_mariadb
export MYSQL_UNIX_PORT  # as the project's readme says where the socket is another than the default
MYSQL_UNIX_PORT=$(mysql_socket)
write_apache_config

run_block 1
samples=$(SAMPLES)
cp "$samples/mandelbrot" home/render/render_1.0
echo "any colour" >home/render/palette_1.0.dat
block 2 xml >home/render/version.xml
as project "$samples/mandelbrot_batch" cut "$DEMO/tiles" --rows 1 >tiles.txt
cp "tiles/$(awk '{ print $3, $1 }' tiles.txt | sort -g | head -1 | cut -d ' ' -f 2).in" home/tile_1
into project/project.xml "</boinc>" "$(block 3 xml)"
block 4 xml | as project tee project/templates/render_in >/dev/null
block 5 xml | as project tee project/templates/render_out >/dev/null
[ "$(blocks xml)" -eq 6 ] || fail "the page has other files than this test knows"
into project/config.xml "</daemons>" "$(block 1 xml)"
# Its two transitioners, for the one that is there.
edit '/<daemon>/{N;N;/<cmd>transitioner/d}'
into project/config.xml "</daemons>" "$(block 6 xml)"
for ((i = 2; i <= $(blocks sh); i++)); do run_block $i; done
cd "$DEMO"
sql "$(block 1 sql)" >/dev/null

KEY=$(grep -oE '[0-9a-f]{32}' "log/block_$(blocks sh)")
[ -n "$KEY" ] || fail "the page's last block prints no account key"
run_cron
in_project bin/status >/dev/null || fail "not every daemon runs"
"$DEMO/sluice/bin/sluice_options" --check "$DEMO/project" >log/check 2>&1 || fail "sluice_options --check: $(cat log/check)"
start_client 1 10
wait_for_assimilated 1 "the page's job"
compute resident
served_by project

move_project home/mosaic
compute moved
served_by project
move_project project

in_project bin/stop -q
edit '/<daemon>/{N;N;/<cmd>scheduler</d}'
in_project bin/start -q
compute cgi
served_by nobody

a2enmod fcgid
apache_with tiles.httpd.fcgi.conf
compute fastcgi
served_by web

a2enmod proxy_fcgi
in_project bin/stop -q
into project/config.xml "</daemons>" "$(sed -n '/<daemon>/,/<\/daemon>/p' project/tiles.readme)"
in_project bin/start -q
apache_with tiles.httpd.proxy.conf
compute proxy
served_by project

owners=$(find project/upload -ignore_readdir_race -type f -printf '%u\n' | sort -u)  # file_deleter runs meanwhile
[ -z "$owners" ] || [ "$owners" = "$(account_of web)" ] || fail "uploads belong to '$owners'"
for ((i = 0; i < 600; i++)); do
    ! grep -q '\] unlinked ' project/log_*/file_deleter.log || break
    sleep 0.2
done
((i < 600)) || fail "file_deleter has deleted no upload"
end_demo
# Children of what was ended need a moment.
for ((i = 0; i < 600; i++)); do
    left=$(pgrep -f -- "$folder/" | grep -vx $$ || true)
    [ -n "$left" ] || break
    sleep 0.2
done
[ -z "$left" ] || fail "processes are left: $(ps -o args= -p $left)"
