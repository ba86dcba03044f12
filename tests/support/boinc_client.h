// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The real boinc-client in a folder of its own: no other host is contacted, its control socket is a Unix socket in that
// folder, it and the applications that it started are ended with it, and its shared memory is removed.
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

/// System V segments, by id, without those that vanish when their last user does. A client talks to each of its jobs
/// through one, which outlives a client that is killed, and would stay until the machine is started anew.
std::vector<int> shared_memory_made_by(pid_t process);
void remove_shared_memory_made_by(pid_t process);

class BoincClient {
  public:
    /// Does not start yet. `config` goes into cc_config.xml's <options>.
    explicit BoincClient(const std::string& config = "");
    ~BoincClient();

    /// Before start(): a volunteer's usual client, the only one of its computer, which tells the computer's name.
    void alone_on_computer() { alone_ = true; }
    /// Before start(): it keeps jobs for so many days, and so fetches more than it can run at once; projects take turns
    /// after so many minutes.
    void want_work_for(double days, double turn = 60) const;
    /// While it does not run: its state file loses its jobs, as after an old copy was put back; host and project stay.
    void forget_jobs() const;
    /// While neither runs: everything of the other one, as a volunteer copies a folder to another computer.
    void copy_folder_of(const BoincClient& other) const;
    void start(const std::vector<std::string>& more_arguments = {});
    void attach(const std::string& master_url, const std::string& key);  ///< starts it with --attach_project
    void stop();                                                         ///< SIGTERM and wait
    void kill();
    bool running();
    pid_t pid() const;  ///< 0: not started
    /// boinccmd --unix_domain ARGUMENTS; stdout and stderr together.
    std::string command(const std::vector<std::string>& arguments) const;
    /// boinccmd --project URL update.
    void update(const std::string& master_url) const;
    std::string log() const;  ///< what it printed since the last start
    /// Waits until `text` is in its log.
    bool logs(const std::string& text, double timeout = 240) const;
    std::string state() const;  ///< client_state.xml
    const std::filesystem::path& folder() const { return folder_.path(); }

  private:
    void forget_process();

    TempDir folder_;
    bool alone_ = false;
    std::unique_ptr<Subprocess> process_;
};

}  // namespace sluice::test
