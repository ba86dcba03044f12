// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/adopt/statements.h"

#include <fmt/core.h>

#include <cstdlib>

#include "config/db_settings.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr double kLongest = 86400;  // s

/// In quotes, as the client's option files have it.
std::string option_file_text(const DbSettings& db) {
    const auto quoted = [](std::string text) {
        replace_all(text, "\\", "\\\\");
        replace_all(text, "\"", "\\\"");
        return "\"" + text + "\"";
    };
    const std::string node = db.host.substr(0, db.host.find(','));  // of a cluster, any
    const std::size_t colon = node.rfind(':');
    std::string text = fmt::format("[client]\nuser={}\npassword={}\n", quoted(db.user), quoted(db.password));
    if (!node.empty()) text += fmt::format("host={}\n", quoted(node.substr(0, colon)));
    if (colon != node.npos) text += fmt::format("port={}\n", quoted(node.substr(colon + 1)));
    const char* socket = std::getenv("MYSQL_UNIX_PORT");  // the client's own files would win over it
    if (socket != nullptr && *socket != '\0') text += fmt::format("socket={}\n", quoted(socket));
    return text;
}

/// False: it failed, and said why.
bool run_statements(const std::string& text, const ProjectConfig& config, const fs::path& folder) {
    const fs::path options = folder / "client.cnf";
    const DbSettings db = db_settings(config);
    write_file_atomically(options, option_file_text(db), 0600);
    // The account's ~/.my.cnf is read last, and would win over what config.xml says. The client replaces the shell: it
    // ends with this program, and so does what it has not committed.
    const std::string command =
        "client=$(command -v mariadb || command -v mysql) || { echo 'There is no mariadb or mysql client: install it' "
        ">&2; exit 1; }\n"
        "HOME=/nonexistent exec \"$client\" --defaults-extra-file=\"$1\" \"$2\"";
    const int status = run_script({"/bin/sh", "-c", command, "sh", options.string(), db.name}, kLongest, &text);
    fs::remove(options);
    return status == 0;
}

}  // namespace

int run_quietly(const std::vector<std::string>& words, double limit) {
    const std::string nothing;
    return run_script(words, limit, &nothing);
}

bool try_statements(const ProjectConfig& config, const fs::path& folder) { return run_statements("", config, folder); }

bool run_statements_of(const fs::path& file, const ProjectConfig& config, const fs::path& folder) {
    const auto text = read_file(file);
    if (!text) throw FileError(file.string() + " does not exist");
    return run_statements(fmt::format("SET @project_hr = {};\n", config.homogeneous_redundancy) + *text, config,
                          folder);
}

}  // namespace sluice
