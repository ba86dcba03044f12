// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice_share: what the rules of shares make of users' submissions, without a project. Has no counterpart upstream.
#include "daemons/share/events.h"
#include "sluice/daemon/program.h"

namespace {

constexpr const char* kDescription =
    "Applies the events of EVENTS.json (- is standard input) and prints the logical times after each, as JSON: which "
    "batch would go first, and why. It reads nothing of a project.\n\n"
    "The file: {\"rule\": \"seed\" or \"settled\" (default), \"clamp\": project-seconds of credit that a returning "
    "user may have (default 86400; rule settled only), \"events\": [...]}.\n\n"
    "An event: {\"t\": time, \"user\": name} and one of: \"quota\": number; \"submit\": {\"batch\", \"seconds\"}; "
    "\"move\": {\"batch\", \"before\"}, both the user's own; \"done\": {\"batch\", \"seconds\"} (the measured work); "
    "\"leave\": true (his quota no longer counts, his unfinished batches end). seconds is the batch's run time on "
    "the whole project. Times rise. A user needs a quota before he submits.\n\n"
    "The result: {\"after\": [for each event {\"lst\": {user: time}, \"lst_start\": {batch: time}, \"let\": {batch: "
    "time}, \"order\": [unfinished batches, least LET first, the earlier submitted first among equals]}]}.";

}  // namespace

int main(int argc, char** argv) {
    const auto text = [](const std::string& file) { return sluice::tags_after_events(sluice::json::parse_file(file)); };
    return sluice::file_tool_main(
        {"sluice_share", "shows the order of users' batches", kDescription, "EVENTS.json", "the events", text}, argc,
        argv);
}
