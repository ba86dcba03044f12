// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/client/policy/policy_client.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <regex>
#include <set>
#include <stdexcept>

#include "sluice/xml/reader.h"
#include "tests/support/boinc_client.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr double kFlops = 1e9;  ///< of one CPU and of one instance of any other type
constexpr double kDay = 86400;
#ifdef __aarch64__
constexpr const char* kPlatform = "aarch64-unknown-linux-gnu";
#else
constexpr const char* kPlatform = "x86_64-pc-linux-gnu";
#endif

double clock_now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool is_cpu(const Json& job) { return job["type"] == "CPU"; }
double instances(const Json& job) { return job.value("instances", 1.0); }
double cpus(const Json& job) { return is_cpu(job) ? instances(job) : job.value("cpus", 0.0); }
double flops(const Json& job) { return kFlops * (cpus(job) + (is_cpu(job) ? 0 : instances(job))); }

/// Name and content of an element, on a line of its own: the client reads its files line by line.
template <class Value>
std::string element(const char* name, const Value& value) {
    return fmt::format("<{0}>{1}</{0}>\n", name, value);
}

std::string seconds(double value) { return fmt::format("{:.6f}", value); }

double number_in(const std::string& xml, const char* tag) {
    const auto value = find_number(xml, tag);
    if (!value) throw std::runtime_error(std::string("the request has no ") + tag);
    return *value;
}

/// What `pattern` captures, in each line between the first `from` and the next `to`.
std::vector<std::string> captured(const std::string& log, const std::string& from, const std::string& to,
                                  const char* pattern) {
    const auto begin = log.find(from);
    if (begin == std::string::npos) return {};
    const std::string part = log.substr(begin, log.find(to, begin) - begin);
    const std::regex expression(pattern);
    std::vector<std::string> found;
    for (std::sregex_iterator i(part.begin(), part.end(), expression), end; i != end; ++i) found.push_back((*i)[1]);
    return found;
}

}  // namespace

class PolicyClient::Session {
  public:
    Session(RequestSink& sink, const std::string& name, const Json& state);
    ~Session() {
        const pid_t client = process_ ? process_->pid() : 0;
        process_.reset();
        remove_shared_memory_made_by(client);
    }

    Json said();
    std::filesystem::path state_file();
    std::string log() const { return process_->out() + process_->err(); }

  private:
    void write_project(const Json& project);
    void write_state();
    void write_settings() const;
    std::string url(const std::string& project) const;
    std::string jobs_of(const std::string& project, std::string& active, int& slot) const;
    std::string version_of(const Json& job) const;
    Json forecast(const std::string& log) const;
    Json executing(const std::string& log) const;
    Json request(const std::string& log);

    RequestSink& sink_;
    std::string name_;
    Json state_;
    double now_;
    TempDir folder_;
    std::unique_ptr<Subprocess> process_;
};

PolicyClient::Session::Session(RequestSink& sink, const std::string& name, const Json& state)
    : sink_(sink), name_(name), state_(state), now_(clock_now()) {
    for (const Json& p : state_["projects"]) write_project(p);
    write_settings();
    write_state();
    std::vector<std::string> args{"boinc",
                                  "--dir",
                                  folder_.path().string(),
                                  "--no_info_fetch",
                                  "--skip_cpu_benchmarks",
                                  "--insecure",
                                  "--gui_rpc_unix_domain",
                                  "--allow_multiple_clients",
                                  "--suppress_net_info"};
    if (state_["resources"].size() == 1) args.push_back("--no_gpus");
    RunOptions options;
    options.cwd = folder_.path();
    process_ = std::make_unique<Subprocess>(args, options);
}

std::string PolicyClient::Session::url(const std::string& project) const {
    return fmt::format("http://127.0.0.1:{}/{}_{}/", sink_.port(), name_, project);
}

/// The plan class of the version of the app that the job uses: one for each usage.
std::string PolicyClient::Session::version_of(const Json& job) const {
    return fmt::format("{}_{}_{}", job["type"].get<std::string>(), instances(job), cpus(job));
}

/// Account and an application without a signature ("anonymous platform"), in one version for each usage that occurs.
void PolicyClient::Session::write_project(const Json& project) {
    const std::string name = project["name"];
    folder_.write(fmt::format("account_127.0.0.1_{}_{}_{}.xml", sink_.port(), name_, name),
                  "<account>\n" + element("master_url", url(name)) +
                      element("authenticator", "0123456789abcdef0123456789abcdef") + "<project_preferences>\n" +
                      element("resource_share", project.value("resource_share", 100.0)) +
                      "</project_preferences>\n</account>\n");
    const fs::path folder = fmt::format("projects/127.0.0.1_{}_{}_{}", sink_.port(), name_, name);
    std::string info =
        "<app_info>\n<app>\n<name>w</name>\n</app>\n<file_info>\n<name>w</name>\n<executable/>\n</file_info>\n";
    // A project that has no version for a type would not be asked for it.
    Json usages = state_["jobs"];
    for (const Json& type : state_["resources"]) usages.push_back({{"type", type["type"]}});
    std::set<std::string> written;
    for (const Json& job : usages) {
        if (!written.insert(version_of(job)).second) continue;
        info += "<app_version>\n<app_name>w</app_name>\n<version_num>100</version_num>\n" +
                element("platform", kPlatform) + element("plan_class", version_of(job)) +
                element("avg_ncpus", seconds(cpus(job))) + element("flops", seconds(flops(job)));
        if (!is_cpu(job))
            info += "<coproc>\n" + element("type", job["type"].get<std::string>()) +
                    element("count", seconds(instances(job))) + "</coproc>\n";
        info += "<file_ref>\n<file_name>w</file_name>\n<main_program/>\n</file_ref>\n</app_version>\n";
    }
    folder_.write(folder / "app_info.xml", info + "</app_info>\n");
    fs::copy_file(binary_dir() + "/tests/idle_app", folder_ / folder / "w");
}

void PolicyClient::Session::write_settings() const {
    std::string options;
    for (const Json& type : state_["resources"]) {
        const double count = type["instances"];
        if (type["type"] == "CPU")
            options += element("ncpus", count);
        else  // The client takes a fifth of the peak, times the count, for the speed of the type.
            options += "<coproc>\n" + element("type", type["type"].get<std::string>()) + element("count", count) +
                       element("peak_flops", seconds(5 * kFlops / count)) + "</coproc>\n";
    }
    folder_.write("cc_config.xml",
                  "<cc_config>\n<log_flags>\n<rr_simulation>1</rr_simulation>\n<cpu_sched_debug>1</cpu_sched_debug>\n"
                  "<work_fetch_debug>1</work_fetch_debug>\n</log_flags>\n<options>\n" +
                      options + "<no_priority_change>1</no_priority_change>\n</options>\n</cc_config>\n");
    const auto days = [&](const char* field) { return fmt::format("{:.12f}", state_[field].get<double>() / kDay); };
    folder_.write("global_prefs_override.xml",
                  "<global_preferences>\n<run_on_batteries>1</run_on_batteries>\n"
                  "<run_if_user_active>1</run_if_user_active>\n<run_gpu_if_user_active>1</run_gpu_if_user_active>\n"
                  "<suspend_cpu_usage>0</suspend_cpu_usage>\n<cpu_usage_limit>100</cpu_usage_limit>\n"
                  "<max_ncpus_pct>100</max_ncpus_pct>\n<disk_min_free_gb>0</disk_min_free_gb>\n"
                  "<disk_max_used_pct>100</disk_max_used_pct>\n<disk_interval>1</disk_interval>\n" +
                      element("work_buf_min_days", days("work_buf_min")) +
                      element("work_buf_additional_days", days("work_buf_additional")) + "</global_preferences>\n");
}

/// client_state.xml as an earlier session of the client would have left it a second ago.
void PolicyClient::Session::write_state() {
    std::string text = "<client_state>\n<host_info>\n" + element("p_fpops", seconds(kFlops)) +
                       element("p_calculated", seconds(now_)) + element("m_nbytes", "8e9") + "</host_info>\n";
    text += "<time_stats>\n" + element("on_frac", state_.value("on_frac", 1.0)) +
            "<connected_frac>1</connected_frac>\n<cpu_and_network_available_frac>1</cpu_and_network_available_frac>\n"
            "<active_frac>1</active_frac>\n<gpu_active_frac>1</gpu_active_frac>\n" +
            element("last_update", seconds(now_ - 1)) + "</time_stats>\n";
    std::string active;
    int slot = 0;
    for (const Json& p : state_["projects"]) {
        const std::string name = p["name"];
        text += "<project>\n" + element("master_url", url(name)) + element("project_name", name) +
                element("scheduler_url", url(name) + "cgi") +
                "<hostid>1</hostid>\n<userid>1</userid>\n<rpc_seqno>5</rpc_seqno>\n<dont_use_dcf/>\n" +
                element("rec", p.value("rec", 0.0)) + element("rec_time", seconds(now_));
        if (!p.value("fetchable", true)) text += "<dont_request_more_work/>\n";
        const Json backoff = p.value("backoff", Json::object());
        for (const auto& [type, until] : backoff.items()) {
            const double left = until.get<double>() - state_["now"].get<double>();
            // As the client reads them, which is not how it writes them.
            text += type == "CPU" ? element("cpu_backoff_time", seconds(now_ + left))
                                  : "<rsc_backoff_time>\n" + element("name", type) +
                                        element("rsc_type", seconds(now_ + left)) + "</rsc_backoff_time>\n";
        }
        text += "</project>\n" + jobs_of(name, active, slot);
    }
    folder_.write("client_state.xml", text + "<active_task_set>\n" + active + "</active_task_set>\n" +
                                          element("platform_name", kPlatform) +
                                          "<core_client_major_version>7</core_client_major_version>\n"
                                          "<core_client_minor_version>20</core_client_minor_version>\n"
                                          "<core_client_release>5</core_client_release>\n</client_state>\n");
}

/// Workunits and results of a project. A started job has done half of its work, in as long as the rest will take.
std::string PolicyClient::Session::jobs_of(const std::string& project, std::string& active, int& slot) const {
    std::string workunits, results;
    int arrived = 0;
    for (const Json& job : state_["jobs"]) {
        ++arrived;
        if (job["project"] != project) continue;
        const std::string name = job["name"];
        const double left = job["remaining"], whole = job.value("started", false) ? 2 * left : left;
        workunits += "<workunit>\n" + element("name", "wu_" + name) +
                     "<app_name>w</app_name>\n<version_num>100</version_num>\n" +
                     element("rsc_fpops_est", seconds(whole * flops(job))) +
                     "<rsc_fpops_bound>1e20</rsc_fpops_bound>\n<rsc_memory_bound>1e6</rsc_memory_bound>\n"
                     "<rsc_disk_bound>1e9</rsc_disk_bound>\n</workunit>\n";
        results +=
            "<result>\n" + element("name", name) + element("wu_name", "wu_" + name) + "<state>2</state>\n" +
            element("platform", kPlatform) + "<version_num>100</version_num>\n" +
            element("plan_class", version_of(job)) +
            element("report_deadline", seconds(now_ + job["deadline"].get<double>() - state_["now"].get<double>())) +
            element("received_time", seconds(now_ - 1000 + arrived)) + "</result>\n";
        if (whole == left) continue;
        folder_.write(fmt::format("slots/{}/checkpoint", slot), "half");
        active += "<active_task>\n" + element("project_master_url", url(project)) + element("result_name", name) +
                  element("slot", slot++) + "<app_version_num>100</app_version_num>\n" +
                  element("checkpoint_cpu_time", left) + element("checkpoint_elapsed_time", left) +
                  "<checkpoint_fraction_done>0.5</checkpoint_fraction_done>\n" +
                  element("checkpoint_fraction_done_elapsed_time", left) + "</active_task>\n";
    }
    return workunits + results;
}

Json PolicyClient::Session::said() {
    const auto decided = [&] {
        const std::string text = log();
        return text.find("No project chosen for work fetch") != std::string::npos ||
               text.find("Sending scheduler request") != std::string::npos || !process_->running();
    };
    const bool in_time = eventually(decided, 120);
    const std::string text = log();
    if (!in_time || !process_->running()) throw std::runtime_error(name_ + ": the client does not decide:\n" + text);
    Json result = forecast(text);
    result["run"] = executing(text);
    result["fetch"] = request(text);
    return result;
}

Json PolicyClient::Session::forecast(const std::string& log) const {
    Json wrr = Json::object(), edf = Json::object();
    for (const Json& type : state_["resources"]) {
        const std::string name = type["type"];
        const std::regex numbers(R"(shortfall (\S+) nidle (\S+) saturated (\S+) busy (\S+))");
        std::smatch found;
        const auto at = log.find("--- state for " + name + " ---");
        const std::string rest = at == std::string::npos ? "" : log.substr(at, 400);
        if (!std::regex_search(rest, found, numbers)) throw std::runtime_error(name_ + ": no forecast in\n" + log);
        wrr[name] = {{"shortfall", std::stod(found[1])},
                     {"idle_instances", std::stod(found[2])},
                     {"saturated", std::stod(found[3])}};
        edf[name] = {{"busy", std::stod(found[4])}};
    }
    return {{"wrr", wrr},
            {"deadline_miss", captured(log, "[rr_sim] start", "enforce_run_list(): start",
                                       R"(Result (\S+) projected to miss deadline)")},
            {"edf", edf}};
}

Json PolicyClient::Session::executing(const std::string& log) const {
    const std::vector<std::string> chosen =
        captured(log, "enforce_run_list(): start", "enforce_run_list: end", R"(\] scheduling (\S+))");
    RunOptions options;
    options.cwd = folder_.path();
    const std::string tasks = run({"boinccmd", "--unix_domain", "--get_tasks"}, options).out;
    Json executing = Json::array();
    for (const std::string& job : chosen) {
        const auto at = tasks.find("   name: " + job + "\n");
        const std::string task = at == std::string::npos ? "" : tasks.substr(at, tasks.find(") -----------", at) - at);
        if (task.find("active_task_state: EXECUTING") != std::string::npos) executing.push_back(job);
    }
    const std::regex running("active_task_state: EXECUTING");
    const auto count = std::distance(std::sregex_iterator(tasks.begin(), tasks.end(), running), std::sregex_iterator());
    if (static_cast<std::size_t>(count) != chosen.size() || executing.size() != chosen.size())
        throw std::runtime_error(name_ + ": other tasks run than the log says:\n" + tasks + log);
    return executing;
}

/// What the scheduler was asked for.
Json PolicyClient::Session::request(const std::string& log) {
    const auto sent = log.find("Sending scheduler request");
    if (sent == std::string::npos) return nullptr;
    const auto line = log.rfind('\n', sent) + 1, bracket = log.find('[', line) + 1;
    const std::string project = log.substr(bracket, log.find(']', bracket) - bracket);
    const auto body = sink_.body(fmt::format("/{}_{}/cgi", name_, project));
    if (!body) throw std::runtime_error(name_ + ": no request came:\n" + log);
    Json types = Json::object();
    const auto add = [&](const std::string& type, const std::string& xml, const std::string& prefix) {
        const double wanted = number_in(xml, (prefix + "req_secs").c_str());
        if (wanted <= 0) return;
        types[type] = {{"seconds", wanted},
                       {"instances", number_in(xml, (prefix + "req_instances").c_str())},
                       {"estimated_delay", number_in(xml, "estimated_delay")}};
    };
    const auto coprocs = std::min(body->find("<coprocs>"), body->size());
    add("CPU", body->substr(0, coprocs), "cpu_");
    for (const Json& type : state_["resources"]) {
        const std::string name = type["type"];
        const auto at = body->find("<type>" + name + "</type>", coprocs);
        if (name != "CPU" && at != std::string::npos) add(name, body->substr(at, body->find("</coproc>", at) - at), "");
    }
    return {{"project", project}, {"types", types}, {"work_req_seconds", number_in(*body, "work_req_seconds")}};
}

fs::path PolicyClient::Session::state_file() {
    const fs::path file = folder_ / "client_state.xml";
    const auto written = [&] {
        std::ifstream in(file);
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        return text.find("<previous_uptime>") != std::string::npos && text.find("</client_state>") != std::string::npos;
    };
    if (!eventually(written, 120)) throw std::runtime_error(name_ + ": no client_state.xml was written:\n" + log());
    return file;
}

PolicyClient::PolicyClient(RequestSink& sink, const std::string& name, const std::string& state)
    : session_(std::make_unique<Session>(sink, name, Json::parse(state))) {}
PolicyClient::~PolicyClient() = default;
std::string PolicyClient::said() { return session_->said().dump(); }
fs::path PolicyClient::state_file() { return session_->state_file(); }

}  // namespace sluice::test
