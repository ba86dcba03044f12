# Who runs the demo. Started by root, only packages and the build are root's: everything that serves, computes or is
# reachable runs as an account that owns nothing else on the machine. config/install-packages makes it.

run_account() { if getent passwd sluice-test >/dev/null; then echo sluice-test; else echo nobody; fi; }

# as_account COMMAND...: as root only.
as_account() {
    local account
    account=$(run_account)
    setpriv --reuid="$account" --regid="$(id -g "$account")" --clear-groups --no-new-privs env HOME=/nonexistent "$@"
}

# hand_over COMMAND...: the demo's folder is the account's from now on, and so is this process. The account may not be able
# to read the sources, so that it gets these scripts too.
hand_over() {
    local scripts=$DEMO/sluice/demo account
    account=$(run_account)
    mkdir -p "$scripts/config"
    cp "$SOURCE/quickstart" "$scripts/"
    cp -r "$SOURCE/config/demo" "$scripts/config/"
    chmod -R a+rX "$DEMO/sluice"
    find "$DEMO" -path "$DEMO/sluice" -prune -o -exec chown -h "$account:$(id -g "$account")" {} +
    cd /
    SLUICE_DEMO=$DEMO SLUICE_DEMO_STAGE=handed_over SLUICE_DEMO_SECONDS=$SECONDS exec setpriv --reuid="$account" --regid="$(id -g "$account")" --clear-groups \
        --no-new-privs env HOME=/nonexistent bash "$scripts/quickstart" "$@"
}

# own_copy OPTION: the account's own copy of quickstart.
own_copy() { (cd / && SLUICE_DEMO=$DEMO as_account bash "$DEMO/sluice/demo/quickstart" "$@"); }

# end_demo: root signals nothing that the account's files name.
end_demo() {
    if [ "$(id -u)" -ne 0 ] || [ -O "$DEMO/run" ]; then stop_demo
    elif [ -e "$DEMO/sluice/demo/quickstart" ]; then own_copy --stop >/dev/null
    fi
}
