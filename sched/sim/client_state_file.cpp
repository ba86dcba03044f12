// SPDX-License-Identifier: LGPL-3.0-or-later
// client_state.xml: what of a running client's memory its policies need.
#include "sched/sim/client_state_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "sluice/base/files.h"
#include "sluice/base/text.h"
#include "sluice/client_policy/policy.h"
#include "sluice/xml/reader.h"

namespace sluice {
namespace {

using json::InputError;
using Fields = std::map<std::string, std::string>;

constexpr double kDay = 86400, kLeastMinBuffer = 180, kLeastFraction = 0.01;
constexpr std::size_t kLongestText = 4096, kMostJobs = 100000;

/// A type's name in a state file, in a request, or of older clients: one for all.
std::string type_name(const std::string& name) {
    static const std::map<std::string, std::string> other{{"coproc_cuda", "NVIDIA"},
                                                          {"CUDA", "NVIDIA"},
                                                          {"coproc_ati", "ATI"},
                                                          {"AMD", "ATI"},
                                                          {"coproc_intel_gpu", "intel_gpu"}};
    const auto found = other.find(name);
    return found == other.end() ? name : found->second;
}

double number(const Fields& fields, const std::string& name, double otherwise = 0) {
    const auto found = fields.find(name);
    if (found == fields.end()) return otherwise;
    const auto value = find_number("<x>" + found->second + "</x>", "x");
    return value ? *value : otherwise;
}

std::string text(const Fields& fields, const std::string& name) {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
}

/// <x/> and <x>1</x>.
bool flag(const Fields& fields, const std::string& name) {
    const auto found = fields.find(name);
    return found != fields.end() && found->second != "0";
}

/// An app version: how fast, and what of the host it uses.
struct Version {
    double flops = 0, cpus = 1, instances = 1;
    std::string type = "CPU";
};

struct ActiveTask {  ///< what <active_task> says of a job
    double elapsed = 0, done = 0, done_elapsed = 0;
    bool executing = false;
    double memory = 0;
};

struct Work {
    std::string app;
    double flops = 0, memory = 0;
};

struct ListedResult {
    std::size_t project = 0;
    Fields fields;
};

/// Of an app: name, platform, version number, plan class.
using VersionKey = std::tuple<std::size_t, std::string, std::string, std::string, std::string>;

class ClientStateReader {
  public:
    ClientStateReader(std::string file, std::string_view xml) : file_(std::move(file)), xml_(xml) {}

    ClientFile read() {
        if (!enter("client_state")) throw InputError(file_, "is neither JSON nor a client_state.xml");
        while (xml_.next_child("client_state")) element();
        settings();
        add_types();
        add_projects();
        add_jobs();
        return std::move(out_);
    }

  private:
    bool enter(std::string_view root) {
        for (auto kind = xml_.next(); kind != XmlReader::Kind::kEof; kind = xml_.next())
            if (kind == XmlReader::Kind::kStart) return xml_.name() == root;
        return false;
    }

    void element() {
        const std::string name(xml_.name());
        if (name == "host_info")
            host_info();
        else if (name == "time_stats")
            times_ = fields(name);
        else if (name == "project")
            project();
        else if (name == "app")
            app();
        else if (name == "app_version")
            version();
        else if (name == "workunit")
            workunit();
        else if (name == "result")
            result();
        else if (name == "active_task_set")
            tasks();
        else if (name == "host_venue")
            venue_ = xml_.text_cut(kLongestText);
        else
            xml_.skip();
    }

    /// The texts of the children of the element that was just entered; of those that occur twice, the first.
    Fields fields(const std::string& parent) {
        Fields found;
        while (xml_.next_child(parent)) {
            const std::string name(xml_.name());
            found.emplace(name, xml_.text_cut(kLongestText));
        }
        return found;
    }

    void host_info() {
        while (xml_.next_child("host_info")) {
            const std::string name(xml_.name());
            if (name == "coprocs")
                coprocs();
            else
                host_.emplace(name, xml_.text_cut(kLongestText));
        }
    }

    void coprocs() {
        while (xml_.next_child("coprocs")) {
            const std::string name(xml_.name());
            if (!name.starts_with("coproc")) {
                xml_.skip();
                continue;
            }
            const Fields f = fields(name);
            coprocs_.emplace_back(type_name(name == "coproc" ? text(f, "type") : name), f);
        }
    }

    void project() {
        Fields f;
        std::map<std::string, double> backoff;
        while (xml_.next_child("project")) {
            const std::string name(xml_.name());
            if (name == "rsc_backoff_time") {
                const Fields b = fields(name);
                backoff[type_name(text(b, "name"))] = number(b, "value");
            } else {
                f.emplace(name, xml_.text_cut(kLongestText));
            }
        }
        if (f.contains("cpu_backoff_time")) backoff.emplace("CPU", number(f, "cpu_backoff_time"));
        projects_.emplace_back(std::move(f), std::move(backoff));
    }

    void need_project(const char* what) const {
        if (projects_.empty()) throw InputError(file_, std::string(what) + " stands before the first project");
    }

    void app() {
        need_project("an app");
        const Fields f = fields("app");
        if (flag(f, "non_cpu_intensive")) idle_apps_.emplace(projects_.size() - 1, text(f, "name"));
        if (flag(f, "fraction_done_exact")) exact_apps_.emplace(projects_.size() - 1, text(f, "name"));
    }

    void version() {
        need_project("an app version");
        Version v;
        Fields f;
        while (xml_.next_child("app_version")) {
            const std::string name(xml_.name());
            if (name == "coproc") {
                const Fields c = fields(name);
                v.type = type_name(text(c, "type"));
                v.instances = number(c, "count", 1);
            } else {
                f.emplace(name, xml_.text_cut(kLongestText));
            }
        }
        v.flops = number(f, "flops");
        v.cpus = number(f, "avg_ncpus", 1);
        versions_[{projects_.size() - 1, text(f, "app_name"), text(f, "platform"), text(f, "version_num"),
                   text(f, "plan_class")}] = v;
    }

    void workunit() {
        need_project("a workunit");
        const Fields f = fields("workunit");
        work_[{projects_.size() - 1, text(f, "name")}] = {text(f, "app_name"), number(f, "rsc_fpops_est"),
                                                          number(f, "rsc_memory_bound")};
    }

    void result() {
        need_project("a result");
        if (results_.size() == kMostJobs) throw InputError(file_, "has more than 100000 results");
        results_.push_back({projects_.size() - 1, fields("result")});
    }

    void tasks() {
        while (xml_.next_child("active_task_set")) {
            if (xml_.name() != "active_task") {
                xml_.skip();
                continue;
            }
            const Fields f = fields("active_task");
            constexpr double kExecuting = 1;
            tasks_[{text(f, "project_master_url"), text(f, "result_name")}] = {
                number(f, "checkpoint_elapsed_time"), number(f, "checkpoint_fraction_done"),
                number(f, "checkpoint_fraction_done_elapsed_time"), number(f, "active_task_state") == kExecuting,
                number(f, "working_set_size_smoothed")};
        }
    }

    /// A preference: the override's, or else the general one of the computer's venue or of all.
    double preference(const char* name, double otherwise) const {
        const auto folder = std::filesystem::path(file_).parent_path();
        for (const char* file : {"global_prefs_override.xml", "global_prefs.xml"}) {
            const auto found = read_file(folder / file);
            if (!found) continue;
            const std::string venue = "<venue name=\"" + venue_ + "\">";
            const auto of_venue = found->find(venue), any_venue = found->find("<venue");
            if (of_venue != std::string::npos)
                if (const auto v =
                        find_number(found->substr(of_venue, found->find("</venue>", of_venue) - of_venue), name))
                    return *v;
            if (const auto v = find_number(found->substr(0, any_venue), name)) return *v;
        }
        return otherwise;
    }

    static double fraction(double value) { return std::clamp(value, kLeastFraction, 1.0); }

    void settings() {
        client::State& s = out_.state;
        const double started = number(times_, "client_start_time");
        if (started <= 0) throw InputError(file_, "has no <client_start_time>, so its time is not known");
        s.now = started + number(times_, "previous_uptime");
        s.work_buf_min = std::max(kLeastMinBuffer, preference("work_buf_min_days", 0.1) * kDay);
        s.work_buf_additional = std::max(0.0, preference("work_buf_additional_days", 0.5) * kDay);
        s.time_slice = 60 * std::max(0.0001, preference("cpu_scheduling_period_minutes", 60));
        s.leave_in_memory = preference("leave_apps_in_memory", 0) != 0;
        const double on = number(times_, "on_frac", 1);
        s.on_frac = fraction(on * number(times_, "active_frac", 1));
        gpu_frac_ = fraction(on * number(times_, "gpu_active_frac", 1));
    }

    void add_types() {
        double cpus = number(host_, "p_ncpus", 1);
        const auto config = read_file(std::filesystem::path(file_).parent_path() / "cc_config.xml");
        if (config)
            if (const auto n = find_number(*config, "ncpus"); n && *n > 0) cpus = *n;
        if (const double percent = preference("max_ncpus_pct", 0); percent > 0) cpus = std::floor(cpus * percent / 100);
        add_type("CPU", {true, std::max(1.0, cpus), 1});
        const double fpops = std::max(1.0, number(host_, "p_fpops", 1e9));
        for (const auto& [name, f] : coprocs_) {
            const double count = number(f, "count");
            // As the client reckons: a fifth of the peak is what applications get of it.
            if (count >= 1) add_type(name, {false, count, 0.2 * count * number(f, "peak_flops") / fpops});
        }
    }
    void add_type(const std::string& name, client::ProcessorType type) {
        if (type.speed <= 0) type.speed = 1;
        out_.types.push_back(name);
        out_.state.types.push_back(type);
    }

    void add_projects() {
        for (const auto& [f, backoff] : projects_) {
            client::Project p;
            p.resource_share = std::max(0.0, number(f, "resource_share", 100));
            p.rec = std::max(0.0, number(f, "rec"));
            p.fetchable = !flag(f, "suspended_via_gui") && !flag(f, "dont_request_more_work") &&
                          !flag(f, "master_url_fetch_pending") && !flag(f, "non_cpu_intensive") &&
                          number(f, "min_rpc_time") <= out_.state.now;
            for (const std::string& type : out_.types) {
                const auto found = backoff.find(type);
                p.backoff_until.push_back(found == backoff.end() ? 0 : found->second);
            }
            out_.state.projects.push_back(std::move(p));
            const std::string name = text(f, "project_name");
            const bool taken = std::find(out_.projects.begin(), out_.projects.end(), name) != out_.projects.end();
            out_.projects.push_back(name.empty() || taken ? text(f, "master_url") : name);
        }
    }

    void add_jobs() {
        std::stable_sort(results_.begin(), results_.end(), [](const ListedResult& a, const ListedResult& b) {
            return number(a.fields, "received_time") < number(b.fields, "received_time");
        });
        for (const ListedResult& r : results_) add_job(r);
    }

    /// Jobs that are being downloaded or can run; not those that are done, suspended, or use next to no CPU.
    void add_job(const ListedResult& r) {
        const Fields& project = projects_[r.project].first;
        const double state = number(r.fields, "state");
        if ((state != 1 && state != 2) || flag(r.fields, "suspended_via_gui") || flag(project, "suspended_via_gui") ||
            flag(project, "non_cpu_intensive"))
            return;
        const std::string name = text(r.fields, "name");
        const auto work = work_.find({r.project, text(r.fields, "wu_name")});
        if (work == work_.end()) throw InputError(file_, "result " + name + " has no workunit");
        if (idle_apps_.contains({r.project, work->second.app})) return;
        const auto version = versions_.find({r.project, work->second.app, text(r.fields, "platform"),
                                             text(r.fields, "version_num"), text(r.fields, "plan_class")});
        if (version == versions_.end()) throw InputError(file_, "result " + name + " has no app version");
        const auto type = std::find(out_.types.begin(), out_.types.end(), version->second.type);
        if (type == out_.types.end()) return;  // its GPU is missing
        const auto task = tasks_.find({text(project, "master_url"), name});
        client::Job job;
        job.project = r.project;
        job.type = static_cast<std::size_t>(type - out_.types.begin());
        const bool cpu = job.type == 0;
        job.instances = std::max(1e-3, cpu ? version->second.cpus : version->second.instances);
        job.cpus = cpu ? 0 : std::max(0.0, version->second.cpus);
        job.deadline = number(r.fields, "report_deadline");
        const double flops =
            version->second.flops > 0 ? version->second.flops : std::max(1.0, number(host_, "p_fpops", 1e9));
        const double correction = flag(project, "dont_use_dcf") ? 1 : number(project, "duration_correction_factor", 1);
        job.remaining = work->second.flops / flops * correction;
        job.memory = work->second.memory;
        if (task != tasks_.end()) start(job, task->second, exact_apps_.contains({r.project, work->second.app}));
        // The result's one on_frac is the CPU's.
        if (!cpu) job.remaining *= out_.state.on_frac / gpu_frac_;
        out_.state.jobs.push_back(job);
        out_.jobs.push_back(name);
    }

    /// The client weighs its estimate with what the job's progress says, by that progress.
    void start(client::Job& job, const ActiveTask& task, bool exact) const {
        job.started = true;
        job.running = task.executing;
        job.running_since = out_.state.now;
        if (task.elapsed > 0) job.checkpointed = out_.state.now;
        if (task.memory > 0) job.memory = task.memory;
        double whole = job.remaining;
        if (task.done >= 1) {
            whole = task.elapsed;
        } else if (task.done > 0) {
            const double by_progress = task.done_elapsed / task.done;
            const bool exceeded = task.elapsed > whole;
            whole = exact || exceeded ? by_progress : task.done * by_progress + (1 - task.done) * whole;
        } else if (task.elapsed > 0 && whole > 0) {
            whole = task.elapsed / (1 - std::exp(-task.elapsed / whole));
        }
        job.remaining = std::max(0.0, whole - task.elapsed);
    }

    std::string file_;
    XmlReader xml_;
    Fields host_, times_;
    std::string venue_;
    double gpu_frac_ = 1;
    std::vector<std::pair<std::string, Fields>> coprocs_;
    std::vector<std::pair<Fields, std::map<std::string, double>>> projects_;
    std::set<std::pair<std::size_t, std::string>> idle_apps_, exact_apps_;
    std::map<VersionKey, Version> versions_;
    std::map<std::pair<std::size_t, std::string>, Work> work_;
    std::vector<ListedResult> results_;
    std::map<std::pair<std::string, std::string>, ActiveTask> tasks_;
    ClientFile out_;
};

}  // namespace

ClientFile read_client_state(const std::string& file, const std::string& text) {
    return ClientStateReader(file, text).read();
}

namespace {

using Json = nlohmann::ordered_json;
using json::InputError;
using json::Object;

/// Longest time that a file may speak of, seconds: a thousand years.
constexpr json::Range kTime{0, 3.2e10};

/// Shares and RECs: sums of them are numbers.
constexpr json::Range kWeight{0, 1e100};

/// The names of one kind of thing, in the order of the file.
class NameTable {
  public:
    explicit NameTable(std::string kind) : kind_(std::move(kind)) {}

    void add(const Object& object, std::string_view field) {
        const std::string name = object.text(field);
        if (!places_.emplace(name, names_.size()).second)
            throw InputError(object.place(field), "there are two " + kind_ + "s \"" + name + "\"");
        names_.push_back(name);
    }
    std::size_t find(const std::string& name, const std::string& place) const {
        const auto found = places_.find(name);
        if (found == places_.end()) throw InputError(place, "there is no " + kind_ + " \"" + name + "\"");
        return found->second;
    }
    const std::vector<std::string>& list() const { return names_; }
    std::size_t size() const { return names_.size(); }

  private:
    std::string kind_;
    std::vector<std::string> names_;
    std::map<std::string, std::size_t> places_;
};

/// What is being read.
struct StateBeingRead {
    client::State state;
    NameTable types{"resource"}, projects{"project"}, jobs{"job"};
};

double number_or(const Object& o, std::string_view name, double otherwise, json::Range range) {
    return o.has(name) ? o.number(name, range) : otherwise;
}

void read_types(const Object& document, StateBeingRead& file) {
    for (const Object& o : document.objects("resources")) {
        o.only({"type", "instances"});
        file.types.add(o, "type");
        const bool is_cpu = to_lower_ascii(o.text("type")) == "cpu";
        file.state.types.push_back({is_cpu, static_cast<double>(o.whole("instances", 1, 100000))});
    }
    if (std::count_if(file.state.types.begin(), file.state.types.end(), [](const auto& t) { return t.is_cpu; }) > 1)
        throw InputError("resources", "the CPU is there twice");
}

void read_projects(const Object& document, StateBeingRead& file) {
    for (const Object& o : document.objects("projects")) {
        o.only({"name", "resource_share", "rec", "fetchable", "backoff"});
        file.projects.add(o, "name");
        client::Project p;
        p.resource_share = number_or(o, "resource_share", 100, kWeight);
        p.rec = number_or(o, "rec", 0, kWeight);
        p.fetchable = !o.has("fetchable") || o.boolean("fetchable");
        p.backoff_until.resize(file.types.size());
        if (o.has("backoff")) {
            const Object backoff = o.object("backoff");
            for (const std::string& type : backoff.names())
                p.backoff_until[file.types.find(type, backoff.place(type))] = backoff.number(type, kTime);
        }
        file.state.projects.push_back(std::move(p));
    }
}

void read_jobs(const Object& document, StateBeingRead& file) {
    for (const Object& o : document.objects("jobs")) {
        o.only({"name", "project", "type", "instances", "cpus", "remaining", "deadline", "started"});
        file.jobs.add(o, "name");
        client::Job j;
        j.project = file.projects.find(o.text("project"), o.place("project"));
        j.type = file.types.find(o.text("type"), o.place("type"));
        j.instances = number_or(o, "instances", 1, {1e-3, 100000});
        j.cpus = number_or(o, "cpus", 0, {0, 100000});
        if (j.cpus > 0 && file.state.types[j.type].is_cpu)
            throw InputError(o.place("cpus"), "is for jobs of other types: a CPU job's CPUs are its instances");
        j.remaining = o.number("remaining", kTime);
        j.deadline = o.number("deadline", kTime);
        j.started = o.has("started") && o.boolean("started");
        file.state.jobs.push_back(j);
    }
}

Json fetch_json(const ClientFile& file, const client::RoundRobin& forecast) {
    const auto request = client::work_to_fetch(file.state, forecast);
    if (!request) return Json();
    Json types = Json::object();
    for (std::size_t t = 0; t < file.types.size(); ++t)
        if (request->types[t].seconds > 0)
            types[file.types[t]] = {{"seconds", request->types[t].seconds}, {"instances", request->types[t].instances}};
    return {{"project", file.projects[request->project]}, {"types", std::move(types)}};
}

}  // namespace

ClientFile read_client_json(const Object& document) {
    document.only({"now", "work_buf_min", "work_buf_additional", "on_frac", "rules", "resources", "projects", "jobs"});
    StateBeingRead file;
    client::State& s = file.state;
    s.now = document.number("now", kTime);
    s.work_buf_min = document.number("work_buf_min", kTime);
    s.work_buf_additional = document.number("work_buf_additional", kTime);
    s.on_frac = number_or(document, "on_frac", 1, {1e-6, 1});
    const std::string rules = document.has("rules") ? document.text("rules") : "client";
    if (rules != "client" && rules != "seed") throw InputError("rules", "must be \"client\" or \"seed\"");
    s.rules = rules == "seed" ? client::Rules::kSeed : client::Rules::kClient;
    read_types(document, file);
    read_projects(document, file);
    read_jobs(document, file);
    return {std::move(file.state), file.types.list(), file.projects.list(), file.jobs.list()};
}

std::string client_decisions(const ClientFile& file) {
    const client::RoundRobin forecast = client::round_robin(file.state);
    const std::vector<double> busy = client::busy_times(file.state, forecast.misses);
    const std::vector<double> priority = client::priorities(file.state);
    Json wrr = Json::object(), edf = Json::object(), priorities = Json::object();
    for (std::size_t t = 0; t < file.types.size(); ++t) {
        const client::Forecast& f = forecast.types[t];
        wrr[file.types[t]] = {
            {"shortfall", f.shortfall}, {"idle_instances", f.idle_instances}, {"saturated", f.saturated}};
        edf[file.types[t]] = {{"busy", busy[t]}};
    }
    for (std::size_t p = 0; p < file.projects.size(); ++p) priorities[file.projects[p]] = priority[p];
    Json misses = Json::array(), run = Json::array();
    for (std::size_t j = 0; j < file.jobs.size(); ++j)
        if (forecast.misses[j]) misses.push_back(file.jobs[j]);
    for (const std::size_t j : client::jobs_to_run(file.state, forecast)) run.push_back(file.jobs[j]);
    return Json{{"wrr", std::move(wrr)}, {"deadline_miss", std::move(misses)},
                {"edf", std::move(edf)}, {"priority", std::move(priorities)},
                {"run", std::move(run)}, {"fetch", fetch_json(file, forecast)}}
               .dump(2) +
           "\n";
}

std::string client_decisions(const std::string& file) {
    const std::string text = json::text_of(file);
    const auto first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
    const bool xml = first != std::string::npos && text[first] == '<';
    return client_decisions(xml ? read_client_state(file, text)
                                : read_client_json(json::parse(text, file == "-" ? "standard input" : file)));
}

}  // namespace sluice
