# SPDX-License-Identifier: LGPL-3.0-or-later
# Who runs the demo. Started by root, only packages, the build and the installation are root's, and this shell, which starts and
# ends everything. Database, web server, project and volunteers have an account each, as they would have where an admin
# followed docs/setting_up_a_project.md. Started by anybody else, everything is that user's.

is_root() { [ "$(id -u)" -eq 0 ]; }

# account_of ROLE: of db, web, project or client.
account_of() {
    if ! is_root; then id -un
    elif [ "$1" = project ]; then echo sluice-test
    else echo "sluice-test-$1"
    fi
}

# become ROLE: sets BECOME to the words that a command of that account begins with.
become() {
    local account
    BECOME=()
    is_root || return 0
    account=$(account_of "$1")
    BECOME=(setpriv "--reuid=$account" "--regid=$(id -g "$account")" --clear-groups --no-new-privs env HOME=/nonexistent)
}

# as ROLE COMMAND...
as() {
    become "$1"
    shift
    "${BECOME[@]}" "$@"
}

# give ROLE PATH...: what stands in a folder of ours.
give() {
    local account
    is_root || return 0
    account=$(account_of "$1")
    shift
    chown -Rh "$account:" "$@"
}

# own_demo: the demo, if there is one, was made by this account. Nobody signals what files of another account name.
own_demo() {
    [ ! -e "$DEMO/run" ] || [ -O "$DEMO/run" ] ||
        { echo "quickstart: the demo in $DEMO belongs to $(stat -c %U "$DEMO/run"): call quickstart as that account, or remove the folder if nothing of it runs" >&2; return 1; }
}
