// SPDX-License-Identifier: LGPL-3.0-or-later
// The scheduler. Stands for upstream's cgi and fcgi. A web server starts it through cgi-bin/cgi (sched/relay): as CGI
// for one request from stdin, or as FastCGI for many over a socket. As bin/scheduler it is the resident program that
// serves all requests. Every request gets exactly one well-formed reply and exit status 0, whatever is wrong with the
// project.
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "config/db_settings.h"
#include "config/load.h"
#include "sched/cgi/listen.h"
#include "sched/cgi/relay_protocol.h"
#include "sched/cgi/scheduler.h"
#include "sched/cgi/termination.h"
#include "sched/cgi/worker_pool.h"
#include "sched/rpc/messages.h"
#include "sched/rpc/reply.h"
#include "sched/web/unix_socket.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/rng.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"
#include "sluice/daemon/command_line.h"
#include "sluice/shmem/job_array.h"

using namespace sluice;

namespace {

struct CgiOptions {
    SchedulerOptions scheduler;
    ListenOptions listen;
};

/// A web server hands over words of a query string as arguments: they must not switch anything.
bool started_by_web_server() {
    return std::getenv("GATEWAY_INTERFACE") != nullptr || std::getenv("REQUEST_METHOD") != nullptr;
}

/// Under that name it is resident where nothing else is asked for.
bool called_scheduler(std::string_view path) { return path.substr(path.rfind('/') + 1) == "scheduler"; }

/// "8" or "2-8".
std::optional<WorkerLimits> worker_limits(const std::string& text) {
    const std::size_t dash = text.find('-');
    const auto least = parse_int(text.substr(0, dash));
    const auto most = dash == std::string::npos ? least : parse_int(text.substr(dash + 1));
    if (!least || !most || *least < 1 || *most < *least || *most > 1000) return std::nullopt;
    return WorkerLimits{static_cast<int>(*least), static_cast<int>(*most)};
}

std::optional<int> parse_options(int argc, char** argv, CgiOptions& options) {
    std::string processes = "2-8";
    const bool resident = called_scheduler(argv[0]);
    CommandLine line(
        resident ? "scheduler" : "cgi", "the scheduler: hands out jobs to clients and takes their results",
        resident
            ? "Resident: serves the requests that cgi-bin/cgi hands to it, and keeps its database connections open. "
              "Add it to the <daemons>. Its socket is PROJECT/pid_HOST/scheduler.sock unless --listen names another."
            : "The web server starts it, as CGI or as FastCGI program. It reads a request from standard input and "
              "writes the reply to standard output. Where the resident scheduler(1) runs, that does the work.");
    line.flag("--batch", options.scheduler.batch,
              "standard input holds many requests; their sequence numbers are not checked");
    line.flag("--debug_log", options.scheduler.debug_log, "log to ./debug_log, and answer even if stop_sched exists");
    line.option("--listen", options.listen.address,
                "be a FastCGI server at HOST:PORT or at the Unix socket PATH, for mod_proxy_fcgi and the like",
                "ADDRESS");
    line.option(
        "--processes", processes,
        "with --listen: how many requests are served at the same time, N or MIN-MAX as there is work; default 2-8",
        "N");
    line.section(
        "FILES",
        "PROJECT/log_HOST/scheduler.log: the log.\nPROJECT/relay_only: while it exists, cgi leaves all work to the "
        "resident scheduler and runs none of its own: the web server's account then needs no config.xml, password or "
        "key.\nPROJECT/stop_sched: while it exists, clients are told to "
        "come back later.\nPROJECT/sluice_moving: as long as sluice adopt or revert is at work, clients are told to come "
        "back in a minute.\nPROJECT/debug_sched: while it exists, the last request and reply of each host are left "
        "in <debug_req_reply_dir>, else the current folder.\nPROJECT/config.xml and the files beside it are read again when they change.");
    line.section(
        "SIGNALS",
        "TERM: as CGI ends at once. As FastCGI program TERM and INT end it when the request that is being served "
        "has its reply; with --listen TERM, INT and HUP end all of them so.");
    line.section("EXIT STATUS",
                 "0: a reply was written, possibly one that tells the client to come back later; a FastCGI program "
                 "was asked to end. 1: wrong command line or address, or ended by SIGTERM as CGI.");
    if (const auto status = line.parse(argc, argv)) return status;
    const auto workers = worker_limits(processes);
    if (!workers) return line.fail("--processes is a number from 1 to 1000, or two of them as 2-8");
    options.listen.workers = *workers;
    options.listen.for_relays = resident && options.listen.address.empty() && !options.scheduler.batch;
    return std::nullopt;
}

/// Without a project there is still a client to be told.
void answer_without_project(Gateway& gateway, const char* why) {
    log_critical("{}", why);
    drain(gateway, {});
    gateway.write(write_early_reply(messages::kCantParseConfig, 3600, false));
    gateway.finish();
}

int run(Gateway& gateway, const SchedulerOptions& options) {
    std::optional<Scheduler> scheduler;
    while (gateway.accept()) {
        try {
            if (!scheduler) scheduler.emplace(find_project_dir(), options);
        } catch (const std::exception& e) {
            answer_without_project(gateway, e.what());
            continue;
        }
        scheduler->serve(gateway);
        gateway.finish();
    }
    return 0;
}

/// One process: the requests that are handed to it.
int serve(Gateway& gateway, const SchedulerOptions& options) {
    handle_signals(gateway.persistent());
    return run(gateway, options);
}

int work(const SchedulerOptions& options) {
    WorkerGateway gateway;
    return serve(gateway, options);
}

/// Those who were in one worker's way do not come back in one second.
std::string sorry(Rng& rng) {
    constexpr int kTimes = relay::kMostSorryDelay - relay::kLeastSorryDelay + 1;
    return write_early_reply(relay::kSorry, relay::kLeastSorryDelay + static_cast<int>(rng.below(kTimes)), false);
}

/// A server goes on where config.xml can't be used, for clients are to be told; whoever started it learns it at once.
void say_what_is_missing() {
    try {
        require_database(load_config(find_project_dir()).config);
    } catch (const Error& e) {
        log_critical("{}", e.what());
    }
}

/// It only looks whether the array is there: to map what another account may cut short is for workers, which may die.
std::string lacking_array() {
    try {
        const ProjectConfig config = load_config(find_project_dir()).config;
        const bool there = fs::exists(job_array_name(config.shmem_key, config.project_dir).publication);
        return there ? "" : "there is no job array: does the feeder run?";
    } catch (const std::exception& e) {
        return e.what();
    }
}

}  // namespace

int main(int argc, char** argv) {
    CgiOptions options;
    if (!started_by_web_server())
        if (const auto status = parse_options(argc, argv, options)) return *status;
    if (options.scheduler.batch) ::unsetenv("CONTENT_LENGTH");  // a stream ends where its writer ends it
    if (options.listen.address.empty() && !options.listen.for_relays)
        return serve(*make_gateway(termination_requested, {SIGTERM, SIGINT}), options.scheduler);
    const char* name = options.listen.for_relays ? "scheduler" : "cgi --listen";
    try {
        if (::geteuid() == 0) refuse_root(name, find_project_dir());
        if (options.listen.for_relays) {
            const std::filesystem::path project = find_project_dir();
            ::setenv("BOINC_PROJECT_DIR", project.c_str(), 1);  // the current folder changes
            options.listen.address = place_for_relays(project, relay::kSocket);
        }
        say_what_is_missing();
        options.listen.lacks = lacking_array;
        const auto rng = make_system_rng();
        return serve_workers(
            options.listen, [&] { return work(options.scheduler); }, [&] { return sorry(*rng); });
    } catch (const Error& e) {
        std::cerr << name << ": " << e.what() << "\n";
        return 1;
    }
}
