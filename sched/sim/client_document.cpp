// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/client_document.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "sluice/base/text.h"
#include "sluice/client_policy/policy.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;
using json::InputError;
using json::Object;

/// Longest time that a file may speak of, seconds: a thousand years.
constexpr json::Range kTime{0, 3.2e10};

/// Shares and RECs: sums of them are numbers.
constexpr json::Range kWeight{0, 1e100};

/// The names of one kind of thing, in the order of the file.
class Names {
  public:
    explicit Names(std::string kind) : kind_(std::move(kind)) {}

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
struct Reading {
    client::State state;
    Names types{"resource"}, projects{"project"}, jobs{"job"};
};

double number_or(const Object& o, std::string_view name, double otherwise, json::Range range) {
    return o.has(name) ? o.number(name, range) : otherwise;
}

void read_types(const Object& document, Reading& file) {
    for (const Object& o : document.objects("resources")) {
        o.only({"type", "instances"});
        file.types.add(o, "type");
        const bool is_cpu = to_lower_ascii(o.text("type")) == "cpu";
        file.state.types.push_back({is_cpu, static_cast<double>(o.whole("instances", 1, 100000))});
    }
    if (std::count_if(file.state.types.begin(), file.state.types.end(), [](const auto& t) { return t.is_cpu; }) > 1)
        throw InputError("resources", "the CPU is there twice");
}

void read_projects(const Object& document, Reading& file) {
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

void read_jobs(const Object& document, Reading& file) {
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
    Reading file;
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
