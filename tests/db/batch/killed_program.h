// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A program that is killed at each of its statements in turn, and given again: what is in the database in the end?
#include <atomic>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/private_mariadb.h"
#include "tests/support/sql_proxy.h"
#include "tests/support/subprocess.h"

namespace sluice::test {

/// A program whose statements go through a proxy.
struct Through {
    SqlProxy proxy;
    Subprocess program;
    Through(const std::vector<std::string>& words, const std::filesystem::path& cwd, const SqlProxy::Judge& judge)
        : proxy(PrivateMariaDb::shared().socket(), judge), program(words, options(cwd, proxy)) {}
    static RunOptions options(const std::filesystem::path& cwd, const SqlProxy& proxy) {
        RunOptions o;
        o.unset = {"BOINC_PROJECT_DIR"};
        o.cwd = cwd;
        o.env["MYSQL_UNIX_PORT"] = proxy.socket().string();
        return o;
    }
};

/// Runs it with a SIGKILL at statement `at` (from 1), which reaches the server or does not; its wait status.
inline RunResult run_killed(const std::vector<std::string>& words, const std::filesystem::path& cwd, int at,
                            bool statement_passes) {
    std::atomic<pid_t> pid{0};
    Through through(words, cwd, [&](const std::string&, int number) {
        if (number != at) return SqlProxy::Action::kPass;
        while (pid == 0) std::this_thread::yield();
        ::kill(pid, SIGKILL);
        return statement_passes ? SqlProxy::Action::kPass : SqlProxy::Action::kCutBefore;
    });
    pid = through.program.pid();
    const auto ended = through.program.wait();
    return ended ? *ended : RunResult{};
}

/// The statements of a run that nobody disturbs.
inline std::vector<std::string> statements_of(const std::vector<std::string>& words, const std::filesystem::path& cwd,
                                              RunResult& result) {
    std::vector<std::string> texts;
    Through through(words, cwd, [&](const std::string& text, int) {
        texts.push_back(text);
        return SqlProxy::Action::kPass;
    });
    result = through.program.wait().value_or(RunResult{});
    return texts;
}

/// Before each statement, and after it where that makes a difference: `prepare`, the program is killed, `go_on`,
/// `check`. Returns how often it was killed.
inline int killed_at_each_statement(const std::vector<std::string>& words, const std::filesystem::path& cwd,
                                    const std::function<void()>& prepare, const std::function<void()>& go_on,
                                    const std::function<void(const std::string&)>& check) {
    prepare();
    RunResult whole;
    const std::vector<std::string> texts = statements_of(words, cwd, whole);
    if (whole.status != 0) {
        check("undisturbed: " + whole.out + whole.err);
        return 0;
    }
    check("undisturbed");
    int killed = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const bool reads = texts[i].starts_with("SELECT") || texts[i].starts_with("START");
        for (const bool passes : {false, true}) {
            if (passes && reads) continue;
            prepare();
            const RunResult r = run_killed(words, cwd, static_cast<int>(i) + 1, passes);
            killed += r.signal == SIGKILL ? 1 : 0;
            go_on();
            check("killed at statement " + std::to_string(i + 1) + (passes ? ", which passed: " : ": ") +
                  texts[i].substr(0, 80));
        }
    }
    return killed;
}

}  // namespace sluice::test
