// sluice_sim: what volunteers' clients do, and in time a whole fleet of them. Has no counterpart upstream.
#include <cstdio>

#include "client_document.h"
#include "sluice/daemon/program.h"

namespace {

constexpr const char* kDescription =
    "sluice_sim client STATE.json (- is standard input) prints, as JSON, what a BOINC client in that state decides: what runs, "
    "what misses its deadline, and what is asked of which project. Nothing of a project is read.\n\n"
    "The state: {\"now\": time, \"work_buf_min\", \"work_buf_additional\": seconds, \"on_frac\": part of the time in which it "
    "computes (default 1), \"rules\": \"client\" (default: as boinc-client does) or \"seed\" (as its design says), "
    "\"resources\": [{\"type\": \"CPU\" or a GPU's, \"instances\"}], \"projects\": [{\"name\", \"resource_share\" (default "
    "100), \"rec\" (default 0), \"fetchable\" (default true), \"backoff\": {type: time}}], \"jobs\" in the order of their "
    "arrival: [{\"name\", \"project\", \"type\", \"instances\" (default 1), \"cpus\" (of GPU jobs, default 0), \"remaining\": "
    "seconds of run time, \"deadline\": time, \"started\" (default false)}]}. deadline and backoff are in the clock of now. "
    "Instead of STATE.json it may be the client_state.xml of a boinc-client 7, at the moment when that was written; preferences "
    "are read from global_prefs.xml, global_prefs_override.xml and cc_config.xml in the same folder.\n\n"
    "The result: {\"wrr\": {type: {\"shortfall\", \"idle_instances\", \"saturated\"}}, \"deadline_miss\": [names], \"edf\": "
    "{type: {\"busy\"}}, \"priority\": {project: number}, \"run\": [names, in the order chosen], \"fetch\": {\"project\", "
    "\"types\": {type: {\"seconds\", \"instances\"}}} or null}. Times are seconds from now; shortfall is in instance-seconds.";

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> words;
    sluice::CommandLine line("sluice_sim", "shows what volunteers' clients decide", kDescription);
    line.positional("client STATE.json", words, "what to do, and with which file");
    line.section("EXIT STATUS", "0: printed. 1: wrong command line. 2: wrong input; standard error names the place.");
    if (const auto status = line.parse(argc, argv)) return *status;
    if (words.size() != 2 || words[0] != "client") return line.fail("give: client STATE.json");
    return sluice::tool_main({"sluice_sim", 2}, [&] {
        std::fputs(sluice::client_decisions(words[1]).c_str(), stdout);
        return 0;
    });
}
