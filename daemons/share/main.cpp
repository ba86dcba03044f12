// sluice_share: what the rules of shares make of users' submissions, without a project. Has no counterpart upstream.
#include <cstdio>

#include "daemons/share/events.h"
#include "sluice/daemon/program.h"

namespace {

constexpr const char* kDescription =
    "Applies the events of EVENTS.json (- is standard input) in their order and prints the tags after each, as JSON: which "
    "batch would go first, and why. Nothing of a project is read.\n\n"
    "The file: {\"rule\": \"seed\" or \"settled\" (default), \"clamp\": project-seconds of credit that a returning user may "
    "have (default 86400; rule settled only), \"events\": [...]}.\n\n"
    "An event: {\"t\": time, \"user\": name} and one of: \"quota\": number; \"submit\": {\"batch\", \"seconds\"}; \"move\": "
    "{\"batch\", \"before\"}, both the user's own; \"done\": {\"batch\", \"seconds\"} (the work that was measured); "
    "\"leave\": true (his quota no longer counts, his unfinished batches end). seconds is the batch's run time on the whole "
    "project. Times don't go back. A user needs a quota before he submits.\n\n"
    "The result: {\"after\": [for each event {\"lst\": {user: tag}, \"lst_start\": {batch: tag}, \"let\": {batch: tag}, "
    "\"order\": [unfinished batches, least LET first, the earlier submitted first among equals]}]}.";

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> files;
    sluice::CommandLine line("sluice_share", "shows the order of users' batches", kDescription);
    line.positional("EVENTS.json", files, "the events; - is standard input");
    line.section("EXIT STATUS", "0: printed. 1: wrong command line. 2: wrong input; standard error names the place.");
    if (const auto status = line.parse(argc, argv)) return *status;
    if (files.size() != 1) return line.fail("give one file of events");
    return sluice::tool_main({"sluice_share", 2}, [&] {
        std::fputs(sluice::tags_after_events(sluice::json::parse_file(files[0])).c_str(), stdout);
        return 0;
    });
}
