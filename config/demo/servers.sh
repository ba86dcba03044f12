# SPDX-License-Identifier: LGPL-3.0-or-later
# The demo's own MariaDB and Apache.

# Below the ports that the system gives to clients: a connection of another program would be in Apache's way.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
}

build_sluice() {
    local build=$SOURCE/build/quickstart
    cmake -S "$SOURCE" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSLUICE_TESTS=OFF >"$SOURCE/build-quickstart.log" 2>&1 ||
        { cat "$SOURCE/build-quickstart.log" >&2; return 1; }
    rm -f "$SOURCE/build-quickstart.log"
    ninja -C "$build"
    BUILD=$build
}

# ./demo; if the demo's accounts can't reach it there (a clone in /root, say), or make_project would refuse the folder's
# name (blanks), a folder in /var/tmp and a link to it.
make_demo_folder() {
    DEMO=$LINK
    local why="" role
    for role in db web project client; do
        as "$role" test -x "$(dirname "$LINK")" || why="user $(account_of "$role") can't enter $(dirname "$LINK")"
    done
    case "$LINK" in *[!A-Za-z0-9/._+-]*) why="the folder's name has more than letters, digits and /._+-" ;; esac
    if [ -n "$why" ]; then
        DEMO=$(mktemp -d /var/tmp/sluice-demo.XXXXXX)
        chmod 755 "$DEMO"
        ln -sfn "$DEMO" "$LINK"
        echo "($why: the demo stands in $DEMO, and $LINK is a link to it)"
    fi
    mkdir -p "$DEMO"/{log,apache/{mods,conf}-enabled}
    mkdir -m 700 "$DEMO"/{run,db,db-tmp,db-files,web}  # a MariaDB clears its tmpdir when it starts: never a shared one
    mkdir "$DEMO"/{results,tiles}
    give db "$DEMO"/{db,db-tmp,db-files}
    give web "$DEMO/web"
    give project "$DEMO"/{results,tiles}
    touch "$DEMO/.sluice-demo"
    cmake --install "$BUILD" --prefix "$DEMO/sluice" >/dev/null
    cd "$DEMO"  # the accounts may not see the folder that we came from
}

# The path of a Unix socket has room for 107 characters: a short folder of its own. Nobody else's account gets in; root's demo has
# three accounts that connect, so there the database's socket can be seen, as Debian's, and the password is what keeps others out.
make_sockets_folder() {
    local folder mode=700
    folder=/tmp/sluice-demo.$(random_hex 6)
    echo "$folder" >"$DEMO/run/sockets"  # first: whatever interrupts us, end_demo knows what to remove
    is_root && mode=711
    mkdir -m "$mode" "$folder" "$folder/db"
    mkdir -m 700 "$folder/web"
    give db "$folder/db"
    give web "$folder/web"
}
mysql_socket() { echo "$(cat "$DEMO/run/sockets")/db/mysql.sock"; }

random_hex() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }

# The server's one account is ours, and known by who connects, as Debian's root@localhost: it has no password.
start_mariadb() {
    make_sockets_folder
    # --force: the machine's name need not be known to any resolver, nor localhost; nobody connects by a name.
    as db mariadb-install-db --no-defaults --force --user="$(account_of db)" --datadir="$DEMO/db" --skip-test-db \
        --auth-root-authentication-method=socket --auth-root-socket-user="$(id -un)" --tmpdir="$DEMO/db-tmp" \
        >"$DEMO/log/mariadb-install.log" 2>&1 ||
        { tail -5 "$DEMO/log/mariadb-install.log" >&2; echo "quickstart: MariaDB's data folder could not be made" >&2; return 1; }
    run_mariadb
}

# client COMMAND...: mariadb as this account.
client() { mariadb --no-defaults --socket="$(mysql_socket)" --user="$(id -un)" "$@"; }

run_mariadb() {
    local i
    become db
    launch mariadb "$DEMO/log/mariadb.log" "${BECOME[@]}" mariadbd --no-defaults --user="$(account_of db)" --datadir="$DEMO/db" \
        --socket="$(mysql_socket)" --tmpdir="$DEMO/db-tmp" --skip-networking --secure-file-priv="$DEMO/db-files" \
        --pid-file="$DEMO/db/mariadb.own-pid" --innodb-buffer-pool-size=64M
    for ((i = 0; i < 1200; i++)); do
        client -e "SELECT 1" >/dev/null 2>&1 && return 0
        pid_of mariadb >/dev/null || break
        sleep 0.1
    done
    echo "quickstart: MariaDB does not start; see $DEMO/log/mariadb.log" >&2
    return 1
}

# sql STATEMENT: rows without headings, tab-separated.
sql() { client --batch --skip-column-names sluice_demo -e "$1"; }

write_apache_config() {
    local modules=/usr/lib/apache2/modules
    cat >"$DEMO/apache/httpd.conf" <<CONF
ServerRoot "$DEMO/apache"
ServerName 127.0.0.1
Listen 127.0.0.1:$PORT
PidFile "$DEMO/web/apache.own-pid"
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule alias_module $modules/mod_alias.so
LoadModule dir_module $modules/mod_dir.so
LoadModule mime_module $modules/mod_mime.so
LoadModule env_module $modules/mod_env.so
IncludeOptional "$DEMO/apache/mods-enabled/*.load"
ScriptSock "$(cat "$DEMO/run/sockets")/web/cgid.sock"
TypesConfig /etc/mime.types
ErrorLog "$DEMO/web/error.log"
LogFormat "%h %t \"%r\" %>s %b" common
CustomLog "$DEMO/web/access.log" common
PassEnv MYSQL_UNIX_PORT
DirectoryIndex index.html
<Directory />
    Require all denied
</Directory>
<IfModule mod_fcgid.c>
    FcgidIPCDir "$(cat "$DEMO/run/sockets")/web/fcgid"
    FcgidProcessTableFile "$DEMO/web/fcgid_shm"
</IfModule>
IncludeOptional "$DEMO/apache/conf-enabled/*.conf"
CONF
}

# enable_module NAME: what a2enmod does.
enable_module() { echo "LoadModule $1_module /usr/lib/apache2/modules/mod_$1.so" >"$DEMO/apache/mods-enabled/$1.load"; }

start_apache() {
    local i
    become web
    launch apache "$DEMO/log/apache.log" "${BECOME[@]}" env MYSQL_UNIX_PORT="$(mysql_socket)" \
        apache2 -d "$DEMO/apache" -f "$DEMO/apache/httpd.conf" -DFOREGROUND
    for ((i = 0; i < 600; i++)); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; then return 0; fi
        pid_of apache >/dev/null || break
        sleep 0.1
    done
    echo "quickstart: Apache does not start; see $DEMO/log/apache.log and $DEMO/web/error.log" >&2
    return 1
}
