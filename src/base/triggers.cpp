// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/triggers.h"

#include "sluice/base/files.h"

namespace sluice {
namespace {

constexpr TriggerFile kTriggers[] = {
    {"stop_sched",
     "every client is told that the project is down for maintenance, and gets no jobs; remove it to go on", true},
    {"stop_daemons", "daemons stop, and do not start; remove it (bin/start --enable does) and start them"},
    {"stop_upload", "uploads are refused; clients try again later; remove it to go on"},
    {"reread_db", "the feeder reads apps and versions again and removes it; if it stays, the feeder does not run"},
    {"relay_only", "cgi-bin/cgi leaves all requests to bin/scheduler; while that does not run clients come back later"},
    {"debug_sched", "each host's last request and reply are kept in cgi-bin; remove it when done"},
};

}  // namespace

std::vector<TriggerFile> triggers_present(const std::filesystem::path& project) {
    std::vector<TriggerFile> present;
    std::error_code ignored;
    for (const TriggerFile& t : kTriggers)
        if (std::filesystem::exists(project / t.name, ignored)) present.push_back(t);
    return present;
}

void ask_feeder_to_reread(const std::filesystem::path& project) {
    write_file_atomically(project / "reread_db", "<reread_db/>\n");
}

std::string trigger_text(const TriggerFile& trigger) {
    return std::string(trigger.name) + " is present: " + trigger.effect;
}

}  // namespace sluice
