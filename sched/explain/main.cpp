// SPDX-License-Identifier: LGPL-3.0-or-later
// sched_explain: why a host gets no work, or which. A dry run of the scheduler on the live job array and database that
// claims nothing and writes nothing. Has no counterpart upstream.
#include <cstdio>

#include "sched/explain/explainer.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

constexpr const char* kDescription =
    "Judges every job of the job array for one host, as the scheduler would. Prints for each job why it would not be "
    "sent, or its score. Then it prints the reasons, the binding constraint first, with the nearest miss. It claims "
    "nothing and writes nothing.";

int explain_main(int argc, char** argv) {
    ExplainOptions options;
    bool json = false;
    std::int64_t host = -1, seed = 1;
    CommandLine line("sched_explain", "says why a host gets no work", kDescription);
    line.option("--host", host, "make a request from what the database knows of this host", "ID");
    line.option("--request", options.request_file,
                "the request in this file (as debug_req_reply_dir keeps them); - is standard input", "FILE");
    line.option("--job", options.job, "only this job, whether or not it is in the array: a result's id or name",
                "RESULT");
    line.option("--app", options.app, "only jobs of this app", "NAME");
    line.flag("--json", json, "one JSON document");
    line.option("--config", options.config_file,
                "decide by this file instead of PROJECT/config.xml, to see what a change would do", "FILE");
    line.option("--plan_class_spec", options.plan_class_file, "likewise for plan_class_spec.xml", "FILE");
    line.flag(
        "--real_scan", options.real_scan,
        "look at as many slots as a real request would: <mm_min_slots>, <mm_max_slots> and <mm_max_locked> (N, M, L) hold");
    line.option("--seed", seed, "where that scan begins, and which of equal versions is taken (default 1)");
    line.option("--seconds", options.wanted.seconds,
                "with --host: seconds of work asked for, for each processor (default 86400)", "N");
    line.option("--delay", options.wanted.delay,
                "with --host: seconds until the host's processors are free (default 0)", "N");
    line.section(
        "EXIT STATUS",
        "0: explained, whether or not jobs would be sent. 1: it can't be explained; the reason is on standard error.");
    line.section("EXAMPLES",
                 "sched_explain --host 17\nsched_explain --host 17 --job 4711 --json\n"
                 "sched_explain --request req.xml --config config.xml.new");
    if (const auto status = line.parse(argc, argv)) return *status;
    if ((host != -1) == !options.request_file.empty()) return line.fail("give either --host ID or --request FILE");
    if (host != -1 && host <= 0) return line.fail("--host: ids of hosts are positive numbers");
    if (!(options.wanted.seconds > 0) || !(options.wanted.delay >= 0))
        return line.fail("--seconds must be positive, --delay not negative");
    if (options.real_scan && !options.job.empty())
        return line.fail("--job judges one job wherever it is: leave --real_scan out");
    options.seed = static_cast<std::uint64_t>(seed);
    options.host = host == -1 ? 0 : host;
    return tool_main({"sched_explain"}, [&] {
        LogOptions log;
        log.file = "/dev/null";  // what the stages would log is in the report
        log_open(log);
        const Report report = explain_request(find_project_dir(), options);
        std::fputs((json ? report_json(report) : report_text(report)).c_str(), stdout);
        return 0;
    });
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) { return sluice::explain_main(argc, argv); }
