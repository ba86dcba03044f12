// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice shadow: what Sluice would have answered where another scheduler did.
#include <signal.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/run/own_programs.h"
#include "sched/adopt/moved_project.h"
#include "sched/shadow/comparison_report.h"
#include "sched/shadow/live_shadow.h"
#include "sched/shadow/shadow_commands.h"
#include "sched/tee/installed_tee.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/process.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/subcommand.h"

namespace sluice {
namespace {

constexpr const char* kShadowDescription =
    "Decides requests as Sluice would, and compares that with the replies of the scheduler that runs. It reads the "
    "project and its database and changes neither; an account that may only SELECT is enough.\n\n"
    "Requests and replies are the files of <debug_req_reply_dir>, which upstream's scheduler writes, too. With --tee "
    "they are those that clients send from now on, until --for is over, or Ctrl-C (SIGINT, SIGTERM, SIGHUP).\n\n"
    "--tee puts a small program in front of PROJECT/cgi-bin/cgi, and takes it away at the end. That program becomes "
    "the cgi. It costs a request less than a millisecond and waits for nothing. If this command is killed, it stays, "
    "and does nothing; the next --tee or --remove_tee takes it away. Requests of more than 256 KB are not looked at. "
    "Each request is decided on a snapshot of the database from the moment when it came.\n\n"
    "What follows is about recorded requests.\n\n"
    "The other scheduler has changed the database since. So each request is decided on the state of its moment: jobs "
    "that its reply or a later one sent count as unsent, jobs that were reported later as in progress, and daily "
    "counts without what was sent since. Rows of the host and the account are those of now, and limits on when a host "
    "may ask again are not judged. So look soon: what db_purge removed is not there.\n\n"
    "Jobs to choose from are those that the replies sent soonest afterwards. Jobs that still wait fill the rest of "
    "the array's slots: those of Sluice's array, or, where its feeder does not run, those that it would pick.\n\n"
    "A difference is shown only if decisions that start at five slots of the array all differ from the reply. Replies "
    "are the same if they hold as many jobs of each application and plan class.";

struct ShadowArguments {
    std::vector<std::string> project, requests;
    std::string config_file, html, lasting, keep;
    std::optional<std::int64_t> level;
    std::int64_t seed = 1, examples = 3;
    bool json = false, tee = false, remove_tee = false;
};

void define_shadow_options(CommandLine& line, ShadowArguments& a) {
    line.positional("PROJECT", a.project, "The project's folder.");
    line.repeatable("--requests", a.requests,
                    "a folder of recorded requests and replies, or one request; may be given many times (default: "
                    "<debug_req_reply_dir>)",
                    "PATH");
    line.flag("--tee", a.tee, "requests that come from now on");
    line.option("--for", a.lasting, "with --tee: so long, as 90s, 30m, 12h or 2d (default: until Ctrl-C)", "DURATION");
    line.option("--keep", a.keep, "with --tee: a folder for requests that differ, and their replies", "FOLDER");
    line.flag("--remove_tee", a.remove_tee, "take away what a killed --tee left, and do nothing else");
    line.exclude("--tee", "--requests");
    line.exclude("--tee", "--remove_tee");
    line.require("--for", "--tee");
    line.require("--keep", "--tee");
    line.option("--level", a.level, "decide at this <compat_level>: 0 or 1 (default: that of config.xml)");
    line.option("--config", a.config_file, "decide by this file instead of PROJECT/config.xml", "FILE");
    line.option("--examples", a.examples, "so many examples of each difference (default 3)");
    line.option("--seed", a.seed, "where scans of the array begin (default 1)");
    line.flag("--json", a.json, "one JSON document");
    line.option("--html", a.html, "write a page with plots, too; it loads nothing", "FILE");
    line.section("EXIT STATUS", "0: no difference. 1: differences. 2: it could not be compared.");
    line.section("EXAMPLES",
                 "sluice shadow /home/boincadm/projects/test\n"
                 "sluice shadow /home/boincadm/projects/test --level 1 --html level1.html\n"
                 "sluice shadow /home/boincadm/projects/test --tee --for 1h");
    line.section("FILES",
                 "PROJECT/cgi-bin/cgi.behind_tee: the scheduler while the tee stands in its place. "
                 "PROJECT/cgi-bin/.sluice_shadow: the socket to which the tee shows requests.");
}

/// s; nullopt: it is none, or longer than a year.
std::optional<double> duration_of(const std::string& text) {
    constexpr double minute = 60, hour = 3600, day = 86400, longest = 366 * day;
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = parse_int(text.substr(0, digits));
    const std::string unit = text.substr(digits);
    if (!number || *number < 1) return std::nullopt;
    const double one = unit.empty() || unit == "s" ? 1
                       : unit == "m"               ? minute
                       : unit == "h"               ? hour
                       : unit == "d"               ? day
                                                   : 0;
    const double seconds = static_cast<double>(*number) * one;
    return seconds > 0 && seconds <= longest ? std::optional(seconds) : std::nullopt;
}

/// "" or what is wrong.
std::string wrong_with(const ShadowArguments& a) {
    if (!a.lasting.empty() && !duration_of(a.lasting)) return "--for takes a time up to 366d, as 90s, 30m, 12h or 2d";
    if (a.project.size() != 1) return "give one project's folder";
    if (a.level && (*a.level < 0 || *a.level > 1)) return "--level is 0 or 1";
    if (a.examples < 0 || a.examples > 1000) return "--examples is a number from 0 to 1000";
    return "";
}

DecidingFiles deciding(const ShadowArguments& a) {
    DecidingFiles by{a.config_file, ""};
    if (a.level) by.compat_level = static_cast<int>(*a.level);
    return by;
}

ComparisonOptions comparing(const ShadowArguments& a) {
    return {static_cast<std::uint64_t>(a.seed), static_cast<int>(a.examples)};
}

Comparison compare_recorded(ShadowArguments& a) {
    LiveProject project(a.project[0], deciding(a), ArrayUse::kIfThere);
    if (a.requests.empty() && !project.live.debug_req_reply_dir.empty())
        a.requests.push_back(project.live.debug_req_reply_dir);
    if (a.requests.empty())
        throw Error(
            "config.xml names no <debug_req_reply_dir>: name a folder there, let clients ask, and call again; or "
            "give --requests or --tee");
    std::size_t dropped = 0;
    const std::vector<RpcFile> files = rpc_files(a.requests, dropped);
    if (files.empty()) throw Error(a.requests[0] + " holds no *sched_request.xml yet");
    Comparison c = compare_with_recorded(project, files, comparing(a));
    c.dropped = static_cast<std::int64_t>(dropped);
    return c;
}

/// Signals that end the command in good order can be read from it.
OwnedFd end_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    return OwnedFd(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
}

/// In front of the project's cgi while it lives.
class TeeInPlace {
  public:
    explicit TeeInPlace(const std::filesystem::path& project) : project_(project) {
        const FileLock lock =
            MovedProject(project).lock_programs();  // who moves a project may keep the tee for its cgi
        if (std::filesystem::exists(project / kCanaryFolder))
            throw ConfigError("A part of the hosts goes to Sluice already: call first: " +
                              sluice_command("canary --stop", project));
        tee::install(project, own_prefix() / "bin/cgi_tee");
    }
    TeeInPlace(const TeeInPlace&) = delete;
    ~TeeInPlace() {
        try {
            tee::remove(project_);
        } catch (const std::exception& e) {
            std::fputs((std::string("sluice shadow: the tee stays: ") + e.what() +
                        "; call: " + sluice_command("shadow --remove_tee", project_) + "\n")
                           .c_str(),
                       stderr);
        }
    }

  private:
    const std::filesystem::path project_;
};

Comparison compare_live(const ShadowArguments& a) {
    const OwnedFd stop = end_signals();
    const std::filesystem::path folder = std::filesystem::absolute(a.project[0]);
    refuse_root_in_project_of_another("sluice shadow --tee",
                                      folder);  // its account owns the folder that this writes to
    if (!a.keep.empty() && !std::filesystem::is_directory(a.keep)) throw Error(a.keep + " is no folder");
    TeedRequests teed(folder);
    LiveShadow shadow([&] { return std::make_unique<LiveProject>(folder, deciding(a), ArrayUse::kIfThere); }, teed,
                      {comparing(a), duration_of(a.lasting).value_or(0), a.keep});
    {
        const TeeInPlace in_place(folder);
        std::fputs("the tee is in place; Ctrl-C takes it away and prints the report\n", stderr);
        shadow.look(stop.get());
    }
    Comparison c = shadow.finish();
    if (c.requests == 0)
        c.notes.emplace_back("no request came: is " + (folder / "cgi-bin/cgi").string() +
                             " what the web server runs? FastCGI programs (cgi-bin/fcgi, mod_fcgid) are not looked at");
    return c;
}

}  // namespace

int shadow_command(int argc, const char* const* argv) {
    ShadowArguments a;
    CommandLine line("sluice shadow", "Says what Sluice would have answered to a project's requests",
                     kShadowDescription);
    line.failure_status(kCouldNot);
    define_shadow_options(line, a);
    if (const auto status = line.parse(argc, argv)) return *status;
    if (const std::string wrong = wrong_with(a); !wrong.empty()) return line.fail(wrong);
    LogOptions log;
    log.file = "/dev/null";  // what the stages would log is in the report
    log_open(log);
    if (a.remove_tee) {
        std::puts(tee::remove(a.project[0]) ? "the tee is gone" : "there was no tee");
        return kNothingToDo;
    }
    const Comparison c = a.tee ? compare_live(a) : compare_recorded(a);
    if (!a.html.empty()) write_file_atomically(a.html, comparison_html(c));
    std::fputs((a.json ? comparison_json(c) : comparison_text(c)).c_str(), stdout);
    return c.any_difference() ? kDifferences : kNothingToDo;
}

}  // namespace sluice
