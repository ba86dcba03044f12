// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/bench/flow/measured_run.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace sluice::test {
namespace {

double seconds_of(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; }

std::string last_line_of(const std::string& file) {
    std::ifstream in(file);
    std::string last;
    for (std::string line; std::getline(in, line);)
        if (!line.empty()) last = line;
    return last;
}

pid_t start(const std::string& project, const std::vector<std::string>& args, const std::string& log) {
    std::vector<char*> argv;
    for (const auto& a : args) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid < 0) throw std::runtime_error("fork failed");
    if (pid > 0) return pid;
    ::setenv("BOINC_PROJECT_DIR", project.c_str(), 1);
    const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::dup2(fd, 1);
    ::dup2(fd, 2);
    ::execv(argv[0], argv.data());
    ::_exit(127);
}

}  // namespace

ServerCounters counters(Database& db) {
    Rows r = db.query(
        Sql("SELECT SUM(IF(variable_name LIKE 'HANDLER_READ%', variable_value, 0)), SUM(IF(variable_name='QUESTIONS', "
            "variable_value, 0)) FROM information_schema.global_status"));
    r.next();
    return {r.i64(0), r.i64(1)};
}

Cost measured_run(Database& db, const std::string& project, const std::vector<std::string>& args,
                  const std::string& log) {
    const ServerCounters before = counters(db);
    const auto begin = std::chrono::steady_clock::now();
    const pid_t pid = start(project, args, log);
    int status = 0;
    rusage used{};
    if (::wait4(pid, &status, 0, &used) != pid) throw std::runtime_error("wait4 failed");
    Cost cost;
    cost.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const ServerCounters after = counters(db);
    cost.cpu = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
    cost.peak_mb = used.ru_maxrss / 1024;
    cost.rows_read = after.rows - before.rows;
    cost.statements = after.statements - before.statements - 1;
    cost.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    cost.last_line = last_line_of(log);
    return cost;
}

long peak_mb(pid_t pid) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/status");
    for (std::string word; in >> word;) {
        if (word != "VmHWM:") continue;
        long kb = 0;
        in >> kb;
        return kb / 1024;
    }
    return 0;
}

}  // namespace sluice::test
