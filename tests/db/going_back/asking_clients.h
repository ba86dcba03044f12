// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Clients that ask a project's cgi-bin/cgi behind Apache all the time, while its programs are swapped.
#include <fmt/core.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/scheduler_server.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

/// An Apache that runs `project`'s cgi-bin, as /moved. `folder`: for its configuration.
inline ApacheOptions apache_of(const TestProject& project, const TempDir& folder) {
    ApacheOptions options;
    options.env = project.env();
    options.include = folder.write(
        "cgi.conf", fmt::format("ScriptAlias /moved \"{0}\"\n<Directory \"{0}\">\n    Options ExecCGI FollowSymLinks\n"
                                "    Require all granted\n</Directory>\n",
                                (project.folder() / "cgi-bin").string()));
    return options;
}

/// What they heard.
struct Heard {
    int replies = 0, told_to_wait = 0, broken = 0;
    std::string example;         ///< of a broken reply, or of one that sends away for more than a minute
    std::set<std::string> sent;  ///< names of jobs
    std::vector<std::string> twice;
};

class AskingClients {
  public:
    AskingClients(const TestProject& project, int clients) : web_(apache_of(project, folder_)) {
        for (int i = 0; i < clients; ++i) threads_.emplace_back([this, i] { ask_on(i); });
    }
    ~AskingClients() { end(); }
    AskingClients(const AskingClients&) = delete;

    /// Since the call before.
    Heard heard() {
        const std::lock_guard lock(mutex_);
        return std::exchange(heard_, {});
    }
    int replies() {
        const std::lock_guard lock(mutex_);
        return heard_.replies;
    }
    Heard end() {
        over_ = true;
        for (std::thread& thread : threads_) thread.join();
        threads_.clear();
        return heard();
    }

  private:
    static constexpr int kWithWork = 20;  ///< so often each asks for a job

    void ask_on(int client) {
        // As long as those of clients with some jobs: a web server may lose the reply of who does not read it all.
        const std::string filling = "<of_no_meaning>" + std::string(30000, 'x') + "</of_no_meaning>\n";
        Id host = 0;
        for (int turn = 1; !over_; ++turn) {
            const std::string request =
                work_request(host, turn, turn <= kWithWork ? 1 : 0, filling, 4, fmt::format("host{}", client));
            const HttpReply reply = http(web_.port(), "/moved/cgi", request);
            if (const auto id = elements(reply.body, "hostid"); !id.empty()) host = std::stoll(id[0]);
            note(reply);
        }
    }
    void note(const HttpReply& reply) {
        const std::lock_guard lock(mutex_);
        ++heard_.replies;
        std::string wrong = malformed(reply);
        if (wrong.empty() && reply.body.find("<project_is_down/>") != reply.body.npos) {
            ++heard_.told_to_wait;
            const auto delay = elements(reply.body, "request_delay");
            if (delay.size() != 1 || std::stod(delay[0]) > 60) wrong = "away for more than a minute: " + reply.body;
        }
        if (!wrong.empty() && heard_.broken++ == 0) heard_.example = wrong;
        for (const std::string& result : elements(reply.body, "result"))
            for (const std::string& job : elements(result, "name")) {
                if (!all_sent_.insert(job).second) heard_.twice.push_back(job);
                heard_.sent.insert(job);
            }
    }

    const TempDir folder_;
    const PrivateApache web_;
    std::mutex mutex_;
    Heard heard_;
    std::set<std::string> all_sent_;
    std::atomic<bool> over_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace sluice::test
