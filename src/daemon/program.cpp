// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/daemon/program.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "sluice/base/clock.h"
#include "sluice/base/log.h"
#include "sluice/base/metrics.h"
#include "sluice/base/project.h"
#include "sluice/base/rng.h"
#include "sluice/daemon/check_arguments.h"

namespace sluice {
namespace {

/// The options that daemons share, as they were given.
class SharedOptions {
  public:
    explicit SharedOptions(const DaemonProgram& program) : program_(program) {}

    void define(CommandLine& line) {
        const bool once = program_.lifetime == Lifetime::kOnce || program_.lifetime == Lifetime::kAlwaysOnce;
        if (program_.has_mod) line.option("--mod", mod_, "only rows with id mod N = I");
        if (program_.has_dry_run) line.flag("--dry_run", dry_run_, "print what would be done, write nothing");
        line.flag("--one_pass", one_pass_, once ? "run once (the default)" : "do what there is to do now, then exit");
        if (program_.lifetime == Lifetime::kUntilStopped)
            line.option("--sleep_interval", sleep_interval_,
                        "seconds between passes that found nothing; default " +
                            std::to_string(static_cast<int>(program_.settings.sleep_interval)));
        if (program_.lifetime == Lifetime::kOnce)
            line.option("--sleep_interval", sleep_interval_, "run as a daemon, a pass every X seconds");
        line.debug_level_option();
    }

    /// "" or what is wrong.
    std::string take(DaemonStart& start) const {
        if (sleep_interval_.value_or(0) < 0) return "--sleep_interval can't be negative";
        if (sleep_interval_) start.settings.sleep_interval = *sleep_interval_;
        const bool once = program_.lifetime == Lifetime::kAlwaysOnce ||
                          (program_.lifetime == Lifetime::kOnce && sleep_interval_.value_or(0) == 0);
        start.share = mod_;
        start.dry_run = dry_run_;
        start.settings.one_pass = one_pass_ || dry_run_ || once;
        start.settings.one_pass_while_stopped |= dry_run_;
        if (dry_run_) start.settings.lock_name.clear();  // it writes nothing, and runs beside the daemon
        return "";
    }

  private:
    const DaemonProgram& program_;
    IdShare mod_;
    std::optional<double> sleep_interval_;
    bool one_pass_ = false, dry_run_ = false;
};

/// `status`, or `failed` if standard output did not take all that was printed.
int with_output(const std::string& who, int status, int failed) {
    const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    const int error = errno;
    if (written || error == EPIPE) return status;  // a reader who has had enough closes the pipe
    std::fprintf(stderr, "%s%sCan't write to standard output: %s\n", who.c_str(), who.empty() ? "" : ": ",
                 std::strerror(error));
    return status != 0 ? status : failed;
}

void open_counts(const DaemonStart& start) {
    metrics_open(start.settings.project, start.settings.name);
    set_metric(Metric::kStarted, {}, static_cast<std::uint64_t>(start.env.clock.now_sec()));
}

}  // namespace

int daemon_main(const DaemonProgram& program, int argc, const char* const* argv) {
    CommandLine line(program.settings.name, program.summary, program.description);
    SharedOptions shared(program);
    if (program.options) program.options(line);
    shared.define(line);
    // Not the command line's own, which would end before `check`.
    std::vector<const char*> words(argv, argv + argc);
    const bool only_check = std::erase_if(words, [](std::string_view word) { return word == kCheckArguments; }) > 0;
    try {
        log_open({});
        if (const auto status = line.parse(static_cast<int>(words.size()), words.data())) return *status;
        SystemClock clock;
        const auto rng = make_system_rng();
        DaemonStart start{program.settings, {}, false, {clock, *rng}};
        std::string wrong = shared.take(start);
        if (wrong.empty() && program.check) wrong = program.check(start);
        if (!wrong.empty()) return line.fail(wrong);
        if (only_check) return 0;
        start.settings.project = find_project_dir();
        if (!start.dry_run) open_counts(start);
        if (!start.settings.one_pass) log_normal("Starting");
        return with_output(program.settings.name, program.run(start), 1);
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        return 1;
    }
}

int tool_main(const ToolFailure& end, const std::function<int()>& work) {
    try {
        return with_output(end.who, work(), end.failed);
    } catch (const std::exception& e) {
        std::fflush(stdout);
        std::fprintf(stderr, "%s%s%s\n", end.who.c_str(), end.who.empty() ? "" : ": ", e.what());
        return end.failed;
    }
}

int file_tool_main(const FileTool& tool, int argc, const char* const* argv) {
    std::vector<std::string> files;
    CommandLine line(tool.name, tool.summary, tool.description);
    line.positional(tool.file, files, tool.file_help + "; - is standard input");
    line.section("EXIT STATUS", "0: printed. 1: wrong command line. 2: wrong input; standard error names the place.");
    if (const auto status = line.parse(argc, argv)) return *status;
    if (files.size() != 1) return line.fail("give one file, " + tool.file);
    return tool_main({tool.name, 2}, [&] {
        std::fputs(tool.text(files[0]).c_str(), stdout);
        return 0;
    });
}

}  // namespace sluice
