// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/boinc_client.h"

#include <pwd.h>
#include <sys/shm.h>
#include <unistd.h>

#include <fstream>

namespace sluice::test {

std::vector<int> shared_memory_made_by(pid_t process) {
    // Another program's memory may stay after that program has ended, and a client may later get its pid.
    const passwd* const client = ::getpwnam(account_name(Role::kClient).c_str());
    const uid_t owner = client != nullptr ? client->pw_uid : ::geteuid();
    std::vector<int> all;
    shm_info in_use{};
    const int highest = shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&in_use));
    for (int index = 0; index <= highest; ++index) {
        shmid_ds segment{};
        const int id = shmctl(index, SHM_STAT_ANY, &segment);
        if (id >= 0 && segment.shm_cpid == process && segment.shm_perm.cuid == owner &&
            (segment.shm_perm.mode & SHM_DEST) == 0)
            all.push_back(id);
    }
    return all;
}

void remove_shared_memory_made_by(pid_t process) {
    for (const int id : shared_memory_made_by(process)) {
        if (accounts_apart())
            run({"ipcrm", "--shmem-id", std::to_string(id)}, {.run_as = Role::kClient});
        else
            shmctl(id, IPC_RMID, nullptr);
    }
}

BoincClient::BoincClient(const std::string& config) {
    folder_.write(
        "cc_config.xml",
        "<cc_config><log_flags><sched_op_debug>1</sched_op_debug><work_fetch_debug>0</work_fetch_debug><cpu_sched>1</cpu_sched></log_flags>"
        "<options><ncpus>1</ncpus><no_priority_change>1</no_priority_change><dont_contact_ref_site>1</dont_contact_ref_site><no_info_fetch>1</no_info_fetch>"
        "<report_results_immediately>1</report_results_immediately><skip_cpu_benchmarks>1</skip_cpu_benchmarks>" +
            config + "</options></cc_config>");
    want_work_for(0);
}

void BoincClient::want_work_for(double days, double turn) const {
    const RightsToAllFiles rights;
    folder_.write(
        "global_prefs_override.xml",
        "<global_preferences><run_on_batteries>1</run_on_batteries><run_if_user_active>1</run_if_user_active>"
        "<suspend_cpu_usage>0</suspend_cpu_usage><cpu_usage_limit>100</cpu_usage_limit><disk_min_free_gb>0.1</disk_min_free_gb>"
        "<disk_max_used_pct>100</disk_max_used_pct><work_buf_min_days>" +
            std::to_string(days) + "</work_buf_min_days><cpu_scheduling_period_minutes>" + std::to_string(turn) +
            "</cpu_scheduling_period_minutes>"
            "<work_buf_additional_days>0</work_buf_additional_days><disk_interval>5</disk_interval><leave_apps_in_memory>0</leave_apps_in_memory></global_preferences>");
}

BoincClient::~BoincClient() { stop(); }

void BoincClient::start(const std::vector<std::string>& more_arguments) {
    std::vector<std::string> args{"boinc",
                                  "--dir",
                                  folder_.path().string(),
                                  "--no_gpus",
                                  "--no_info_fetch",
                                  "--skip_cpu_benchmarks",
                                  "--gui_rpc_unix_domain",
                                  "--insecure",
                                  "--sched_retry_delay_min",
                                  "1",
                                  "--sched_retry_delay_max",
                                  "2",
                                  "--pers_retry_delay_min",
                                  "1",
                                  "--pers_retry_delay_max",
                                  "2"};
    if (!alone_) args.insert(args.end(), {"--allow_multiple_clients", "--suppress_net_info"});
    args.insert(args.end(), more_arguments.begin(), more_arguments.end());
    const RightsToAllFiles rights;  // from the second start on the folder is the client's
    if (accounts_apart()) std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
    give(folder_.path(), Role::kClient);
    RunOptions options;
    options.cwd = folder_.path();
    options.run_as = Role::kClient;
    process_ = std::make_unique<Subprocess>(args, options);
}

void BoincClient::attach(const std::string& master_url, const std::string& key) {
    start({"--attach_project", master_url, key});
}

void BoincClient::stop() {
    if (process_ && process_->running()) {
        process_->send_signal(SIGTERM);
        if (!process_->wait(60)) process_->send_signal(SIGKILL);
    }
    forget_process();
}

void BoincClient::kill() {
    if (process_ && process_->running()) process_->send_signal(SIGKILL);
    forget_process();
}

void BoincClient::forget_process() {
    if (!process_) return;
    const pid_t client = process_->pid();
    process_.reset();
    remove_shared_memory_made_by(client);
}

pid_t BoincClient::pid() const { return process_ ? process_->pid() : 0; }

bool BoincClient::running() { return process_ && process_->running(); }

std::string BoincClient::command(const std::vector<std::string>& arguments) const {
    std::vector<std::string> args{"boinccmd", "--unix_domain"};
    args.insert(args.end(), arguments.begin(), arguments.end());
    RunOptions options;
    options.cwd = folder_.path();
    options.run_as = Role::kClient;
    const RunResult r = run(args, options);
    return r.out + r.err;
}

void BoincClient::update(const std::string& master_url) const { command({"--project", master_url, "update"}); }

void BoincClient::forget_jobs() const {
    const RightsToAllFiles rights;
    std::string text = state();
    for (const std::string block : {"result", "workunit", "active_task"}) {
        const std::string begin = "<" + block + ">", end = "</" + block + ">";
        for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin))
            text.erase(at, text.find(end, at) + end.size() - at);
    }
    folder_.write("client_state.xml", text);
    std::filesystem::remove(folder_ / "client_state_prev.xml");
    std::filesystem::remove_all(folder_ / "slots");
}

void BoincClient::copy_folder_of(const BoincClient& other) const {
    namespace fs = std::filesystem;
    const RightsToAllFiles rights;
    for (const auto& entry : fs::directory_iterator(other.folder_.path())) {
        if (entry.is_socket() || entry.path().filename() == "lockfile") continue;
        fs::copy(entry.path(), folder_ / entry.path().filename(),
                 fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    }
}

std::string BoincClient::log() const { return process_ ? process_->out() + process_->err() : ""; }

bool BoincClient::logs(const std::string& text, double timeout) const {
    return eventually([&] { return log().find(text) != std::string::npos; }, timeout);
}

std::string BoincClient::state() const {
    const RightsToAllFiles rights;
    std::ifstream in(folder_ / "client_state.xml");
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace sluice::test
