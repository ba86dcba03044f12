// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/health/health_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sched/health/gather.h"
#include "sched/health/judgement.h"
#include "sched/health/told.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/subcommand.h"

namespace sluice {
namespace {

constexpr std::size_t kLongestLine = 600;

void print_text(const std::vector<HealthCheck>& checks) {
    for (const HealthCheck& check : checks) {
        fmt::print("{:<8} {:<10} {}\n", health_word(check.health), check.id, in_one_line(check.says, kLongestLine));
        if (!check.remedy.empty()) fmt::print("{:<19} -> {}\n", "", in_one_line(check.remedy, kLongestLine));
    }
    fmt::print("{}\n", health_word(worst_of(checks)));
}

/// A state that can't be kept is told each time: better twice than never.
bool is_to_be_said(const std::filesystem::path& project, const std::vector<HealthCheck>& checks, double now) {
    const std::filesystem::path file = log_dir(project) / "health_told";
    HealthTold told;
    try {
        told = HealthTold::parse(read_file(file, 4096).value_or(""));
        const bool news = is_news(checks, now, told);
        write_file_atomically(file, told.text());
        return news;
    } catch (const FileError& error) {
        fmt::print(stderr, "{}\n", error.what());
        return worst_of(checks) != Health::kWell;
    }
}

std::string json_of(const HealthFacts& facts, const std::vector<HealthCheck>& checks) {
    auto list = nlohmann::ordered_json::array();
    for (const HealthCheck& check : checks)
        list.push_back(
            {{"id", check.id}, {"health", health_word(check.health)}, {"says", check.says}, {"remedy", check.remedy}});
    const nlohmann::ordered_json all = {
        {"time", facts.now}, {"health", health_word(worst_of(checks))}, {"checks", list}};
    return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// For a node exporter's textfile collector.
std::string prometheus_text(const HealthFacts& facts, const std::vector<HealthCheck>& checks) {
    std::string text =
        "# HELP sluice_health_state What sluice health says of each check: 0 well, 1 degraded, 2 broken.\n"
        "# TYPE sluice_health_state gauge\n";
    for (const HealthCheck& check : checks)
        text += fmt::format("sluice_health_state{{check=\"{}\"}} {}\n", check.id, static_cast<int>(check.health));
    text +=
        "# HELP sluice_health_timestamp_seconds When sluice health looked.\n"
        "# TYPE sluice_health_timestamp_seconds gauge\n";
    return text + fmt::format("sluice_health_timestamp_seconds {:.3f}\n", facts.now);
}

}  // namespace

int health_command(int argc, const char* const* argv) {
    CommandLine line(
        "sluice health", "Says whether a project is well, and what to do first if it is not",
        "Looks at daemons, tasks, database, job array, scheduler, results, disks, keys and logs of this "
        "machine, and changes nothing. It takes a second at most: what does not answer is reported as that. "
        "docs/health.md explains each check.");
    line.failure_status(kCouldNot);
    std::vector<std::string> projects;
    HealthOptions options;
    bool json = false, prometheus = false, no_request = false, changes = false;
    line.positional("PROJECT", projects, "The project's folder.");
    line.flag("--json", json, "As JSON.");
    line.flag("--prometheus", prometheus, "As metrics for Prometheus.");
    line.flag("--changes", changes,
              "For cron, which mails what is printed: print only what changed since the last call with this option and "
              "stayed so for two calls, and every hour what is still not well.");
    line.flag("--no_request", no_request, "Send no request to the scheduler and the upload handler.");
    line.exclude("--json", "--prometheus");
    line.exclude("--json", "--changes");
    line.exclude("--prometheus", "--changes");
    line.section("FILES", "log_HOST/health_told: what --changes has said.");
    line.section("EXIT STATUS", "0: well. 1: degraded. 2: broken, or it could not look.");
    if (const auto status = line.parse(argc, argv)) return *status;
    if (projects.size() != 1 || projects[0].empty()) return line.fail("give one project's folder");
    // A web server that closes the connection early, and a reader of our output, end the process otherwise.
    std::signal(SIGPIPE, SIG_IGN);
    options.project = std::filesystem::absolute(projects[0]).lexically_normal();
    options.scheduler = !no_request;
    const HealthFacts facts = gather_health(options, SystemClock());
    const std::vector<HealthCheck> checks = judge_health(facts);
    if (json)
        fmt::print("{}\n", json_of(facts, checks));
    else if (prometheus)
        fmt::print("{}", prometheus_text(facts, checks));
    else if (!changes || is_to_be_said(options.project, checks, facts.now))
        print_text(checks);
    const Health worst = worst_of(checks);
    const int status = worst == Health::kWell ? kNothingToDo : worst == Health::kDegraded ? kDifferences : kCouldNot;
    // A thread may still wait for a server: it is not waited for.
    if (std::fflush(stdout) != 0) ::_exit(kCouldNot);
    ::_exit(status);
}

}  // namespace sluice
