// SPDX-License-Identifier: LGPL-3.0-or-later
// trickle_echo, trickle_credit, trickle_deadline, trickle_script and message_handler: one program, which its name tells
// what to do. Upstream's programs of these names; trickle_script is ours.
#include <cmath>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/messages/trickle.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/daemon/program.h"

#ifndef SLUICE_HANDLER  // CMakeLists.txt says which program this is; tools that read the file alone take this one
#define SLUICE_HANDLER kEcho
#endif

namespace sluice {
namespace {

enum class HandlerKind { kEcho, kCredit, kDeadline, kScript, kAll };

struct HandlerWords {
    const char* name;
    const char* summary;
    const char* description;
};
constexpr HandlerKind kHandler = HandlerKind::SLUICE_HANDLER;
constexpr HandlerWords kHandlers[] = {
    {"trickle_echo", "answer each message of a variety with itself",
     "An example, and a test of the way: what an application reports comes back to it. Hosts get the answers if config.xml has "
     "<msg_to_host>."},
    {"trickle_credit", "grant credit for the run time that messages report",
     "A message holds <runtime>, in seconds. The host, its user and the user's team get credit for that time at the "
     "host's measured speed. A limit is the speed that 95 % of the hosts at work do not exceed."},
    {"trickle_deadline", "move deadlines of jobs that report progress",
     "A message of a running job moves its deadline, if that ends soon. The client keeps the deadline that it was told."},
    {"trickle_script", "call a script for each message of a variety",
     "The script is PROJECT/bin/SCRIPT. It is called with the host's id, the message's id and time, and the variety, and reads "
     "the message from its standard input. Exit status 0: it is handled. Otherwise it is called again at the next pass."},
    {"message_handler", "answer each message of any variety with itself",
     "For tests of the way to clients. The answer is the message as it came, outside of <trickle_down>: applications do not "
     "see it, as trickle_echo's."}};

struct HandlerOptions {
    std::string variety, script;
    double max_runtime = 0, period = 0, timeframe = 0, time_limit = kScriptTimeLimit;
};

void define_options(CommandLine& line, HandlerOptions& o) {
    if (kHandler != HandlerKind::kAll)
        line.option("--variety", o.variety, "messages of this variety; default: those without one", "V");
    if (kHandler == HandlerKind::kCredit)
        line.option("--max_runtime", o.max_runtime, "seconds; no message counts more (required)", "S");
    if (kHandler == HandlerKind::kDeadline) {
        line.option("--extension_period", o.period, "a deadline is moved by so many seconds (required)", "S");
        line.option("--extension_timeframe", o.timeframe, "only deadlines that end within so many seconds (required)",
                    "S");
    }
    if (kHandler == HandlerKind::kScript) {
        line.option("--script", o.script, "the script in bin/ (required)", "NAME");
        line.option(
            "--time_limit", o.time_limit,
            "a script that runs longer for a message is killed, and called again later; default 600; 0: no limit", "S");
    }
}

std::string take(const HandlerOptions& o) {
    if (kHandler == HandlerKind::kCredit && !(o.max_runtime > 0)) return "--max_runtime is required, above 0";
    if (kHandler == HandlerKind::kDeadline && !(o.period >= 1 && o.timeframe > 0))
        return "--extension_period and --extension_timeframe are required, above 0";
    if (kHandler == HandlerKind::kScript && (o.script.empty() || o.script.find('/') != o.script.npos))
        return "--script is required: the name of a file in bin/";
    if (o.time_limit < 0) return "--time_limit is below 0; 0: no limit";
    return "";
}

HandleMessage handler(const HandlerOptions& o, MessageStore& store, const DaemonStart& start) {
    const Clock& clock = start.env.clock;
    switch (kHandler) {
        case HandlerKind::kCredit:
            return credit_handler(store, clock, o.max_runtime, [&store] { return store.speeds(); });
        case HandlerKind::kDeadline:
            return deadline_handler(store, clock, static_cast<std::int64_t>(o.period), o.timeframe);
        case HandlerKind::kScript: {
            const fs::path script = start.settings.project / "bin" / o.script;
            if (!fs::is_regular_file(script)) throw ConfigError("there is no " + script.string());
            return script_handler(store, script.string(), o.time_limit);
        }
        case HandlerKind::kAll: return return_handler(store, clock);
        case HandlerKind::kEcho: break;
    }
    return echo_handler(store, clock);
}

int run(const HandlerOptions& o, DaemonStart& start) {
    Database db(db_settings(load_config_and_warn(start.settings.project)));
    const auto store = make_message_store(db);
    const auto variety = kHandler == HandlerKind::kAll ? std::nullopt : std::optional<std::string>(o.variety);
    TrickleService service(*store, variety, start.settings.sleep_interval, handler(o, *store, start));
    return start.run(service);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    const HandlerWords& words = kHandlers[static_cast<std::size_t>(kHandler)];
    HandlerOptions options;
    const DaemonProgram program{.summary = words.summary,
                                .description = words.description,
                                .settings = {.name = words.name, .sleep_interval = 5},
                                .options = [&](CommandLine& line) { define_options(line, options); },
                                .check = [&](DaemonStart&) { return take(options); },
                                .run = [&](DaemonStart& start) { return run(options, start); }};
    return daemon_main(program, argc, argv);
}
