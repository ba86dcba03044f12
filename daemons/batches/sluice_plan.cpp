// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice_plan: when a batch can be done, and by which hosts, without a project. Has no counterpart upstream.
#include "daemons/batches/fleet_plan.h"
#include "sluice/daemon/program.h"

namespace {

constexpr const char* kDescription =
    "Reads hosts and a number of jobs from FILE.json (- is standard input). Prints JSON: the least time T at which "
    "the hosts have completed so many jobs, and H, the hosts that complete a job by T. Every processor "
    "starts its next job when it ends one. It reads nothing of a project.\n\n"
    "The file: {\"hosts\": [{\"id\": number or text, \"cpus\": 1 or more, \"delay\": seconds until it can start, "
    "\"job_seconds\": of one job on one processor}], \"jobs\": number, \"min_hosts\": T is at least the time at "
    "which so many hosts, or all, complete a job; may be left out}.\n\n"
    "The result: {\"T\": seconds from now, null if there is no host, \"hosts\": [{\"id\", \"jobs\": it completes by "
    "T, counted to 1e12 a processor}]}.";

}  // namespace

int main(int argc, char** argv) {
    const auto text = [](const std::string& file) { return sluice::plan_document(sluice::json::parse_file(file)); };
    return sluice::file_tool_main(
        {"sluice_plan", "plans when a batch can be done, and where", kDescription, "FILE.json", "hosts and jobs", text},
        argc, argv);
}
