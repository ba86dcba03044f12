// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "sluice/base/error.h"
#include "sluice/xml/reader.h"

namespace sluice::sim {
namespace {

using json::InputError;
using json::kNotNegative;
using json::kPositive;
using json::Object;
using json::Range;

constexpr json::Range kPart{0, 1};

/// An option may have elements of its own, as <score_weights> has.
bool closes_what_it_opens(std::string_view value) {
    std::vector<std::string> open;
    XmlReader reader(value);
    for (XmlReader::Kind kind = reader.next(); kind != XmlReader::Kind::kEof; kind = reader.next()) {
        if (kind == XmlReader::Kind::kStart && !reader.empty_element()) open.emplace_back(reader.name());
        if (kind != XmlReader::Kind::kEnd) continue;
        if (open.empty() || open.back() != reader.name()) return false;
        open.pop_back();
    }
    return open.empty();
}

void take(const Object& o, const char* name, double& to, json::Range range) {
    if (o.has(name)) to = o.number(name, range);
}
void take(const Object& o, const char* name, int& to, int min, int max) {
    if (o.has(name)) to = static_cast<int>(o.whole(name, min, max));
}
void take(const Object& o, const char* name, std::string& to) {
    if (o.has(name)) to = o.text(name);
}
void take(const Object& o, const char* name, bool& to) {
    if (o.has(name)) to = o.boolean(name);
}

/// `words` and what they stand for.
template <typename E>
E one_of(const Object& o, const char* name, std::initializer_list<std::pair<const char*, E>> words) {
    const std::string said = o.text(name);
    std::string known;
    for (const auto& [word, value] : words) {
        if (said == word) return value;
        known += (known.empty() ? "" : ", ") + std::string(word);
    }
    throw InputError(o.place(name), "'" + said + "' is none of: " + known);
}

Fleet parse_fleet(const Object& o) {
    o.only({"hosts", "speed_sigma", "lifetime_days", "buffer_factor", "max_jobs_per_core", "error_rate", "bad_hosts",
            "bad_error_rate", "wrong_rate", "lost_rate", "always_on", "daily", "gpu_hosts", "wrong_clocks", "memory_gb",
            "files_gb", "other_share", "trace", "sessions"});
    Fleet f;
    take(o, "hosts", f.hosts, 0, 10'000'000);
    take(o, "speed_sigma", f.speed_sigma, {0, 3});
    take(o, "lifetime_days", f.lifetime_days, kNotNegative);
    if (f.lifetime_days > 0 && f.lifetime_days < kLeastLifeDays)
        throw InputError(o.place("lifetime_days"), fmt::format("must be 0 (for ever) or at least {}", kLeastLifeDays));
    take(o, "buffer_factor", f.buffer_factor, {0, 100});
    take(o, "max_jobs_per_core", f.max_jobs_per_core, 1, 10'000);
    for (const auto& [name, to] :
         std::initializer_list<std::pair<const char*, double*>>{{"error_rate", &f.error_rate},
                                                                {"bad_hosts", &f.bad_hosts},
                                                                {"bad_error_rate", &f.bad_error_rate},
                                                                {"wrong_rate", &f.wrong_rate},
                                                                {"lost_rate", &f.lost_rate},
                                                                {"always_on", &f.always_on},
                                                                {"daily", &f.daily},
                                                                {"gpu_hosts", &f.gpu_hosts},
                                                                {"wrong_clocks", &f.wrong_clocks}})
        take(o, name, *to, kPart);
    if (f.always_on + f.daily > 1)
        throw InputError(o.place("daily"), "always_on and daily are parts: together at most 1");
    take(o, "memory_gb", f.memory_gb, kPositive);
    take(o, "files_gb", f.files_gb, kNotNegative);
    take(o, "other_share", f.other_share, {0, 0.99});
    take(o, "trace", f.trace);
    take(o, "sessions", f.sessions);
    return f;
}

AppSpec parse_app(const Object& o) {
    o.only({"name", "size_classes", "homogeneous_redundancy", "homogeneous_app_version", "gpu", "threads", "locality",
            "file_groups"});
    AppSpec a;
    a.name = o.text("name");
    take(o, "size_classes", a.size_classes, 0, 100);
    take(o, "homogeneous_redundancy", a.homogeneous_redundancy, 0, 2);
    take(o, "homogeneous_app_version", a.homogeneous_app_version);
    take(o, "gpu", a.gpu);
    take(o, "threads", a.threads);
    if (a.gpu && a.threads) throw InputError(o.place("threads"), "is for apps without \"gpu\"");
    take(o, "locality", a.locality, 0, 1);
    take(o, "file_groups", a.file_groups);
    return a;
}

UserSpec parse_user(const Object& o) {
    o.only({"name", "quota"});
    UserSpec u;
    u.name = o.text("name");
    take(o, "quota", u.quota, kPositive);
    return u;
}

FilesSpec parse_files(const Object& o) {
    o.only({"open", "jobs", "megabytes"});
    FilesSpec f;
    f.open = static_cast<int>(o.whole("open", 1, 1'000'000));
    take(o, "jobs", f.jobs, 1, 10'000'000);
    take(o, "megabytes", f.megabytes, kNotNegative);
    return f;
}

/// `jobs` of a batch are whole gangs.
void parse_gangs(const Object& o, WorkSpec& w) {
    if (o.text("kind") != "gangs") {
        for (const char* field : {"members", "gangs", "checkpoint_minutes", "restart"})
            if (o.has(field)) throw InputError(o.place(field), "is for the kind gangs only");
        return;
    }
    if (o.has("jobs")) throw InputError(o.place("jobs"), "is for batches: give members and gangs");
    w.gang.size = static_cast<int>(o.whole("members", 2, 1000));
    int gangs = 1;
    take(o, "gangs", gangs, 1, 10'000);
    w.jobs = gangs * w.gang.size;
    take(o, "checkpoint_minutes", w.gang.checkpoint_minutes, {0.1, 1e6});
    take(o, "restart", w.gang.restart);
    if (w.quorum > 1 || w.target > 1) throw InputError(o.place("quorum"), "each member of a gang is one result");
    if (w.size_hours.size() > 1) throw InputError(o.place("sizes"), "members of a gang have one size");
}

void only_fields_of_work(const Object& o) {
    o.only({"user",
            "app",
            "kind",
            "jobs_per_day",
            "keep",
            "jobs",
            "every_hours",
            "arrivals",
            "size_hours",
            "sizes",
            "size_sigma",
            "estimate",
            "delay_bound_days",
            "quorum",
            "target",
            "memory_mb",
            "disk_mb",
            "files",
            "members",
            "gangs",
            "checkpoint_minutes",
            "restart",
            "from_day",
            "until_day"});
}

WorkSpec parse_work(const Object& o) {
    only_fields_of_work(o);
    WorkSpec w;
    take(o, "user", w.user);
    take(o, "app", w.app);
    w.kind = one_of<WorkSpec::Kind>(o, "kind",
                                    {{"stream", WorkSpec::Kind::kStream},
                                     {"batches", WorkSpec::Kind::kBatches},
                                     {"gangs", WorkSpec::Kind::kBatches}});
    take(o, "jobs_per_day", w.jobs_per_day, {0, 1e8});
    take(o, "keep", w.keep, 0, 10'000'000);
    take(o, "jobs", w.jobs, 1, 10'000'000);
    take(o, "every_hours", w.every_hours, {0.001, 1e9});
    if (o.has("arrivals")) w.poisson = one_of<bool>(o, "arrivals", {{"poisson", true}, {"regular", false}});
    if (o.has("size_hours") && o.has("sizes")) throw InputError(o.place("sizes"), "stands beside size_hours: give one");
    if (o.has("size_hours")) w.size_hours = {o.number("size_hours", kPositive)};
    if (o.has("sizes")) {
        w.size_hours.clear();
        for (const Object& size : o.objects("sizes")) {
            size.only({"hours"});
            w.size_hours.push_back(size.number("hours", kPositive));
        }
        if (w.size_hours.empty()) throw InputError(o.place("sizes"), "give at least one");
    }
    take(o, "size_sigma", w.size_sigma, {0, 3});
    take(o, "estimate", w.estimate, kPositive);
    take(o, "delay_bound_days", w.delay_bound_days, {kPositive.min, 36500});
    take(o, "quorum", w.quorum, 1, 20);
    take(o, "target", w.target, 0, 100);
    take(o, "memory_mb", w.memory_mb, kNotNegative);
    take(o, "disk_mb", w.disk_mb, kNotNegative);
    if (o.has("files")) w.files = parse_files(o.object("files"));
    parse_gangs(o, w);
    take(o, "from_day", w.from_day, kNotNegative);
    take(o, "until_day", w.until_day, kNotNegative);
    if (o.has("jobs_per_day") && o.has("keep"))
        throw InputError(o.place("keep"), "stands beside jobs_per_day: give one");
    if (w.kind == WorkSpec::Kind::kStream && w.jobs_per_day <= 0 && w.keep <= 0)
        throw InputError(o.place("jobs_per_day"), "a stream needs jobs_per_day, or keep: jobs that always wait unsent");
    return w;
}

EventSpec parse_event(const Object& o) {
    o.only({"at_day", "what", "part", "hours"});
    EventSpec e;
    e.at_day = o.number("at_day", kNotNegative);
    using What = EventSpec::What;
    e.what = one_of<What>(o, "what",
                          {{"database_away", What::kDatabaseAway},
                           {"hosts_vanish", What::kHostsVanish},
                           {"hosts_join", What::kHostsJoin},
                           {"demand", What::kDemand},
                           {"hosts_fail", What::kHostsFail}});
    const bool part_only = e.what == What::kHostsVanish || e.what == What::kHostsFail;
    if (e.what == What::kDatabaseAway)
        e.hours = o.number("hours", kPositive);
    else
        e.part = o.number("part", part_only ? kPart : Range{kPositive.min, 1000});
    return e;
}

void parse_accel(const Object& o, Scenario& s) {
    o.only({"every_hours", "options", "stats_options"});
    s.accel_every_hours = o.has("every_hours") ? o.number("every_hours", kPositive) : 1;
    s.keep_days = 14;  // batches are measured by what became of their jobs
    take(o, "options", s.accel_options);
    take(o, "stats_options", s.stats_options);
}

void parse_shares(const Object& o, Scenario& s) {
    o.only({"every_minutes"});
    s.shares_every_minutes = o.has("every_minutes") ? o.number("every_minutes", kPositive) : 5;
    if (s.keep_days <= 0) s.keep_days = 2.0 / 24;  // what a job cost is known an hour after it is over
}

void parse_planner(const Object& o, Scenario& s) {
    o.only({"every_minutes", "margin", "horizon_hours", "copies"});
    s.planner_every_minutes = o.has("every_minutes") ? o.number("every_minutes", kPositive) : 1;
    take(o, "margin", s.planner_margin, {1, 10});
    take(o, "copies", s.planner_copies, {0, 0.5});
    take(o, "horizon_hours", s.planner_horizon_hours, kPositive);
    s.keep_days = 14;  // hosts are left out by what became of their jobs
}

void check_names(const Object& o, const Scenario& s) {
    const auto known = [](const auto& list, const std::string& name) {
        return std::any_of(list.begin(), list.end(), [&](const auto& x) { return x.name == name; });
    };
    const auto once = [&](const auto& list, const char* field) {
        std::set<std::string> names;
        for (const auto& x : list)
            if (!names.insert(x.name).second) throw InputError(o.place(field), "'" + x.name + "' stands twice");
    };
    once(s.users, "users");
    once(s.apps, "apps");
    for (std::size_t i = 0; i < s.work.size(); ++i) {
        const std::string place = o.place("work") + "[" + std::to_string(i) + "]";
        if (!known(s.apps, s.work[i].app)) throw InputError(place + ".app", "there is no app '" + s.work[i].app + "'");
        if (!known(s.users, s.work[i].user))
            throw InputError(place + ".user", "there is no user '" + s.work[i].user + "'");
    }
    if (s.warmup_days >= s.days) throw InputError(o.place("warmup_days"), "must be less than days");
}

void only_known_fields(const Object& o) {
    o.only({"name",
            "about",
            "days",
            "warmup_days",
            "drain_days",
            "target_hours",
            "compat_level",
            "config",
            "feeder",
            "size_regulator",
            "census_every_hours",
            "batch_accel",
            "batch_shares",
            "batch_planner",
            "keep_days",
            "fleet",
            "apps",
            "users",
            "work",
            "events"});
}

}  // namespace

const AppSpec& app_of(const Scenario& scenario, const WorkSpec& work) {
    return *std::find_if(scenario.apps.begin(), scenario.apps.end(),
                         [&](const AppSpec& a) { return a.name == work.app; });
}

Scenario parse_scenario(const Object& o) {
    only_known_fields(o);
    Scenario s;
    take(o, "name", s.name);
    take(o, "days", s.days, {0.01, 10'000});
    take(o, "warmup_days", s.warmup_days, kNotNegative);
    take(o, "drain_days", s.drain_days, kNotNegative);
    take(o, "target_hours", s.target_hours, kPositive);
    take(o, "compat_level", s.compat_level, 0, 1);
    if (o.has("config")) {
        const Object config = o.object("config");
        for (const std::string& name : config.names()) {
            std::string value = config.scalar(name);
            if (name.find_first_of("<>/& ") != std::string::npos)
                throw InputError(config.place(name), "is not the name of an option");
            if (!closes_what_it_opens(value))
                throw InputError(config.place(name), "has tags that are not closed in it");
            if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
            s.config_xml += fmt::format("<{0}>{1}</{0}>\n", name, value);
        }
    }
    take(o, "feeder", s.feeder);
    if (o.has("size_regulator")) {
        const Object r = o.object("size_regulator");
        r.only({"low", "high", "sleep"});
        s.regulator_low = r.number("low", kPositive);
        s.regulator_high = r.number("high", kPositive);
        take(r, "sleep", s.regulator_sleep, {1, 86400});
        if (s.regulator_high < s.regulator_low) throw InputError(r.place("high"), "must not be below low");
    }
    take(o, "census_every_hours", s.census_every_hours, kPositive);
    if (o.has("batch_accel")) parse_accel(o.object("batch_accel"), s);
    if (o.has("batch_shares")) parse_shares(o.object("batch_shares"), s);
    if (o.has("batch_planner")) parse_planner(o.object("batch_planner"), s);
    take(o, "keep_days", s.keep_days, kNotNegative);
    if (o.has("fleet")) s.fleet = parse_fleet(o.object("fleet"));
    if (o.has("apps"))
        for (const Object& a : o.objects("apps")) s.apps.push_back(parse_app(a));
    else
        s.apps.push_back({});
    if (o.has("users"))
        for (const Object& u : o.objects("users")) s.users.push_back(parse_user(u));
    else
        s.users.push_back({});
    for (const Object& w : o.objects("work")) s.work.push_back(parse_work(w));
    if (o.has("events"))
        for (const Object& e : o.objects("events")) s.events.push_back(parse_event(e));
    check_names(o, s);
    return s;
}

namespace {

/// Of a built-in one, or of a file.
std::string scenario_text(const std::string& name_or_file) {
    std::string names;
    for (const BuiltInScenario& b : built_in_scenarios()) {
        if (name_or_file == b.name) return b.json;
        names += (names.empty() ? "" : ", ") + std::string(b.name);
    }
    if (name_or_file != "-" && !std::filesystem::exists(name_or_file))
        throw Error("there is no scenario '" + name_or_file + "': neither a file nor one of " + names);
    return json::text_of(name_or_file);
}

}  // namespace

Scenario load_scenario(const std::string& name_or_file, const Override& changed) {
    const std::string text = scenario_text(name_or_file);
    Scenario s = parse_scenario(json::parse(text, name_or_file));
    if (!changed.text.empty()) {
        json::parse(changed.text, changed.name);
        auto all = nlohmann::json::parse(text);
        all.merge_patch(nlohmann::json::parse(changed.text));
        try {
            s = parse_scenario(json::parse(all.dump(), changed.name));
        } catch (const json::InputError& e) {  // the scenario is right: the other is not
            throw json::InputError(changed.name, e.what());
        }
    }
    if (s.name == "scenario") s.name = std::filesystem::path(name_or_file).stem().string();
    return s;
}

}  // namespace sluice::sim
