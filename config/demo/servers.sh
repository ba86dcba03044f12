# The demo's own MariaDB and Apache.

free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 20000))
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

# Environment of every program of the demo.
demo_env() {
    env BOINC_PROJECT_DIR="$DEMO/project" MYSQL_UNIX_PORT="$(cat "$DEMO/run/socket")" "$@"
}

# ./demo; if the demo's account can't reach it there (a clone in /root, say), or make_project would refuse the folder's
# name (blanks), a folder in /var/tmp and a link to it.
make_demo_folder() {
    DEMO=$LINK
    local why=""
    if [ "$(id -u)" -eq 0 ] && ! as_account test -x "$(dirname "$LINK")"; then
        why="user $(run_account) can't enter $(dirname "$LINK")"
    fi
    case "$LINK" in *[!A-Za-z0-9/._+-]*) why="the folder's name has more than letters, digits and /._+-" ;; esac
    if [ -n "$why" ]; then
        DEMO=$(mktemp -d /var/tmp/sluice-demo.XXXXXX)
        chmod 755 "$DEMO"
        ln -sfn "$DEMO" "$LINK"
        echo "($why: the demo stands in $DEMO, and $LINK is a link to it)"
    fi
    mkdir -p "$DEMO"/{log,results,apache}
    mkdir -m 700 "$DEMO"/{run,db,db-tmp,db-files}  # a MariaDB clears its tmpdir when it starts: never a shared one
    touch "$DEMO/.sluice-demo"
    cmake --install "$BUILD" --prefix "$DEMO/sluice" >/dev/null
}

start_mariadb() {
    # The path of a Unix socket has room for 107 characters: a short folder of its own.
    local folder socket
    folder=/tmp/sluice-demo.$(random_hex 6)
    socket=$folder/mysql.sock
    echo "$socket" >"$DEMO/run/socket"  # first: whatever interrupts us, stop_demo knows what to remove
    mkdir -m 700 "$folder"
    write_accounts "$socket"
    # --force: the machine's name need not be known to any resolver, nor localhost; nobody connects by a name.
    mariadb-install-db --no-defaults --force --user="$(id -un)" --datadir="$DEMO/db" --auth-root-authentication-method=normal \
        --skip-test-db --tmpdir="$DEMO/db-tmp" >"$DEMO/log/mariadb-install.log" 2>&1 ||
        { tail -5 "$DEMO/log/mariadb-install.log" >&2; echo "quickstart: MariaDB's data folder could not be made" >&2; return 1; }
    run_mariadb
}

random_hex() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }

# The server's one account: of the demo's database only, with a random password. accounts.sql is run before the server listens.
write_accounts() {
    local password
    password=$(random_hex 16)
    (
        umask 077
        echo "$password" >"$DEMO/run/password"
        printf '[client]\nuser=demo\npassword=%s\nsocket=%s\n' "$password" "$1" >"$DEMO/run/client.cnf"
        cat >"$DEMO/run/accounts.sql" <<SQL
DELETE FROM mysql.global_priv WHERE User<>'mariadb.sys';
FLUSH PRIVILEGES;
CREATE DATABASE IF NOT EXISTS sluice_demo CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE OR REPLACE USER demo@localhost IDENTIFIED BY '$password';
GRANT ALL ON sluice_demo.* TO demo@localhost;
SQL
    )
}

# client COMMAND...: mariadb as the demo's account.
client() { mariadb --defaults-file="$DEMO/run/client.cnf" "$@"; }

run_mariadb() {
    local socket i
    socket=$(cat "$DEMO/run/socket")
    launch mariadb "$DEMO/log/mariadb.log" mariadbd --no-defaults --user="$(id -un)" --datadir="$DEMO/db" --socket="$socket" \
        --tmpdir="$DEMO/db-tmp" --skip-networking --init-file="$DEMO/run/accounts.sql" --secure-file-priv="$DEMO/db-files" \
        --pid-file="$DEMO/run/mariadb.own-pid" --innodb-buffer-pool-size=64M
    for ((i = 0; i < 300; i++)); do
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
PidFile "$DEMO/run/apache.own-pid"
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule alias_module $modules/mod_alias.so
LoadModule dir_module $modules/mod_dir.so
LoadModule mime_module $modules/mod_mime.so
LoadModule env_module $modules/mod_env.so
LoadModule cgid_module $modules/mod_cgid.so
ScriptSock "$(dirname "$(cat "$DEMO/run/socket")")/cgid.sock"
TypesConfig /etc/mime.types
ErrorLog "$DEMO/log/apache-error.log"
LogFormat "%h %t \"%r\" %>s %b" common
CustomLog "$DEMO/log/apache-access.log" common
PassEnv MYSQL_UNIX_PORT
DirectoryIndex index.html
<Directory />
    Require all denied
</Directory>
Include "$(ls "$DEMO"/project/*.httpd.conf)"
CONF
}

start_apache() {
    local i
    write_apache_config
    launch apache "$DEMO/log/apache.log" env MYSQL_UNIX_PORT="$(cat "$DEMO/run/socket")" \
        apache2 -d "$DEMO/apache" -f "$DEMO/apache/httpd.conf" -DFOREGROUND
    for ((i = 0; i < 100; i++)); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; then return 0; fi
        pid_of apache >/dev/null || break
        sleep 0.1
    done
    echo "quickstart: Apache does not start; see $DEMO/log/apache.log and apache-error.log" >&2
    return 1
}
