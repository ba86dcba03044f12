// SPDX-License-Identifier: LGPL-3.0-or-later
// create_account: a volunteer's account without a web site. Prints the account key that a client attaches
// with.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>

#include "config/db_settings.h"
#include "config/load.h"
#include "config/project/add_rows.h"
#include "sluice/base/clock.h"
#include "sluice/base/project.h"
#include "sluice/daemon/program.h"
#include "sluice/db/project_setup_store.h"

namespace sluice {
namespace {

/// Two at once: the second finds what the first has made.
User add_or_find(ProjectSetupStore& store, const User& user, bool& existed) {
    try {
        store.add_user(user);
    } catch (const DbError& error) {
        if (error.kind() != DbError::Kind::kDuplicate) throw;
        const auto found = store.user_by_email(user.email_addr);
        if (!found) throw ConfigError("The name '" + user.name + "' is taken: give another one with --name");
        existed = true;
        return *found;
    }
    return user;
}

int run(int argc, const char* const* argv) {
    CommandLine line("create_account", "Creates a volunteer's account and prints its key",
                     "The key is for boinccmd --project_attach URL KEY. If the e-mail address has an account "
                     "already, that "
                     "account's key is printed and nothing is changed.");
    std::string email, name;
    bool password_from_stdin = false;
    line.option("--email", email, "The volunteer's e-mail address (required).", "ADDRESS");
    line.option("--name", name, "The name that others see (default: the address up to the @).", "NAME");
    line.flag("--password", password_from_stdin, "Read a password for the web site from the first line of stdin.");
    line.section("EXAMPLES", "create_account --email volunteer@example.org --name Volunteer");
    if (const auto status = line.parse(argc, argv)) return *status;
    if (email.empty()) return line.fail("--email is required");
    if (name.empty()) name = email.substr(0, email.find('@'));
    std::string password;
    if (password_from_stdin && (!std::getline(std::cin, password) || password.empty())) {
        return line.fail("there is no password on stdin");
    }
    const ProjectConfig config = load_config_and_warn(find_project_dir());
    Database db(db_settings(config));
    const auto store = make_project_setup_store(db);
    bool existed = false;
    User user;
    if (const auto found = store->user_by_email(email)) {
        user = *found;
        existed = true;
    } else {
        user = add_or_find(*store, new_account(email, name, password, SystemClock().now_sec()), existed);
    }
    if (existed) fmt::print(stderr, "{} has an account already (id {}); this is its key\n", email, user.id);
    fmt::print("{}\n", user.authenticator);
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    return sluice::tool_main({}, [&] { return sluice::run(argc, argv); });
}
