// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/array_mirror.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

namespace sluice {

void ArrayMirror::set(std::size_t slot, const HeldJob& job) {
    jobs_[slot] = job;
    jobs_[slot].held = true;
    slot_of_[job.queued.row.id] = slot;
}

HeldJob ArrayMirror::clear(std::size_t slot) {
    const HeldJob was = jobs_[slot];
    if (!was.held) return was;
    slot_of_.erase(was.queued.row.id);
    jobs_[slot] = HeldJob{};
    return was;
}

std::vector<HeldJob> ArrayMirror::notice_taken(const JobArray& array) {
    std::vector<HeldJob> taken;
    if (slot_of_.empty()) return taken;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (jobs_[i].held && array.state(static_cast<std::uint32_t>(i)) == SlotState::kEmpty) taken.push_back(clear(i));
    }
    return taken;
}

std::uint32_t ArrayMirror::looks(std::size_t slot, const JobArray& array) const {
    const std::uint32_t all = array.passed_over_count(static_cast<std::uint32_t>(slot));
    return all - std::min(all, jobs_[slot].discounted_looks);
}

void ArrayMirror::restart_looks(const StreamKey& line, double since, const JobArray& array) {
    std::vector<std::size_t> of_line;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (jobs_[i].held && jobs_[i].line() == line) of_line.push_back(i);
    }
    const auto older = std::ranges::count_if(of_line, [&](std::size_t i) { return jobs_[i].since < since; });
    if (static_cast<std::size_t>(older) > of_line.size() - of_line.size() / 4) return;
    for (const std::size_t i : of_line)
        jobs_[i].discounted_looks = array.passed_over_count(static_cast<std::uint32_t>(i));
}

ArrayShares ArrayMirror::shares(std::span<const std::uint32_t> slots) const {
    ArrayShares s;
    s.slots = slots.size();
    for (const std::uint32_t slot : slots) {
        if (!jobs_[slot].held) continue;
        const UnsentRow& row = jobs_[slot].queued.row;
        ++(row.priority > 0 ? s.high : s.low);
        ++s.by_batch[row.batch];
    }
    return s;
}

std::vector<std::uint32_t> ArrayMirror::empty_slots() const {
    std::vector<std::uint32_t> slots;
    slots.reserve(jobs_.size() - slot_of_.size());
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (!jobs_[i].held) slots.push_back(static_cast<std::uint32_t>(i));
    }
    return slots;
}

namespace {

std::string app_name(const ArrayView& view, Id id) {
    const App* app = view.tables->app(id);
    return app != nullptr ? app->name : fmt::format("app {}", id);
}

const char* state_name(SlotState state) {
    switch (state) {
        case SlotState::kEmpty: return "empty";
        case SlotState::kPresent: return "present";
        case SlotState::kClaimed: return "claimed";
    }
    return "?";
}

std::string seconds_ago(std::int64_t now, std::int64_t then) {
    return then == 0 ? "never" : fmt::format("{} s ago", now - then);
}

std::string feeder_line(const ArrayView& view) {
    std::string triggers;
    for (const std::string& line : view.triggers) triggers += line + '\n';
    return triggers + fmt::format("feeder: PID {}, {}, last sign of life {}", view.stats.feeder.pid,
                                  view.feeder_alive ? "running" : "NOT RUNNING",
                                  seconds_ago(view.now, view.stats.feeder_heartbeat));
}

std::string tables_text(const ArrayView& view) {
    const ProjectTables& t = *view.tables;
    std::string text = fmt::format("tables: generation {}, built {}\n", view.stats.table_generation,
                                   seconds_ago(view.now, t.built_at));
    text += fmt::format("platforms ({}):\n", t.platforms.size());
    for (const Platform& p : t.platforms) text += fmt::format("  {} {}\n", p.id, p.name);
    text += fmt::format("apps ({}):\n", t.apps.size());
    for (const App& a : t.apps) {
        text += fmt::format("  {} {}: weight {}, HR type {}, size classes {}{}{}", a.id, a.name, a.weight,
                            static_cast<int>(a.homogeneous_redundancy), a.n_size_classes, a.beta ? ", beta" : "",
                            a.non_cpu_intensive ? ", non-CPU-intensive" : "");
        if (const auto q = t.size_quantiles.find(a.id); q != t.size_quantiles.end()) {
            text += ", quantiles";
            for (const double speed : q->second) text += fmt::format(" {:.3e}", speed);
        } else if (a.size_classes() > 0) {
            text += ", quantiles unknown";
        }
        text += '\n';
    }
    text += fmt::format("app versions ({}):\n", t.versions.size());
    for (const AppVersion& v : t.versions) {
        const Platform* p = t.platform(v.platformid);
        text += fmt::format("  {} {} {} {}{}{}{}\n", v.id, app_name(view, v.appid), v.version_num,
                            p != nullptr ? p->name : "?", v.plan_class.empty() ? "" : " [" + v.plan_class + "]",
                            v.beta ? " beta" : "", v.deprecated ? " (for pinned jobs only)" : "");
    }
    text += fmt::format(
        "broadcasts: {}\nhost speeds: mean {:.3e}, deviation {:.3e}, median {:.3e}, 95th percentile {:.3e}\n",
        t.broadcasts.size(), t.perf.mean, t.perf.stddev, t.perf.median, t.perf.percentile95);
    return text;
}

std::string slot_line(const ArrayView& view, const SlotView& s) {
    if (s.state == SlotState::kEmpty) return fmt::format("{:5} ---\n", s.slot);
    if (s.state == SlotState::kClaimed) return fmt::format("{:5} claimed by PID {}\n", s.slot, s.owner.pid);
    const JobSummary& j = s.job;
    return fmt::format("{:5} {:12} {:10} {:10} {:8} {:5} {:8} {:5} {:8} {:6} {:6}{}{}\n", s.slot,
                       app_name(view, j.app_id), j.workunit_id, j.result_id, j.batch, j.size_class, j.priority,
                       j.hr_class, view.now - j.time_added, s.infeasible, s.passed_over,
                       j.need_reliable != 0 ? " need_reliable" : "",
                       j.app_version_num != 0 ? fmt::format(" version {}", j.app_version_num) : "");
}

constexpr std::array<std::pair<std::int64_t, const char*>, 4> kAges{
    {{60, "<1min"}, {600, "<10min"}, {3600, "<1h"}, {86400, "<1d"}}};

std::size_t age_column(std::int64_t age) {
    std::size_t column = 0;
    while (column < kAges.size() && age >= kAges[column].first) ++column;
    return column;
}

struct ShapeRow {
    std::array<int, kAges.size() + 1> by_age{};
    int jobs = 0;
    std::uint64_t passed_over = 0;
};
using Shape = std::map<std::tuple<Id, int, int>, ShapeRow>;  // app, size class, HR class

Shape shape_of(const ArrayView& view) {
    Shape shape;
    for (const SlotView& s : view.slots) {
        if (s.state != SlotState::kPresent) continue;
        ShapeRow& row = shape[{s.job.app_id, s.job.size_class, s.job.hr_class}];
        ++row.by_age[age_column(view.now - s.job.time_added)];
        ++row.jobs;
        row.passed_over += s.passed_over;
    }
    return shape;
}

nlohmann::json slot_json(const ArrayView& view, const SlotView& s) {
    nlohmann::json j{{"slot", s.slot}, {"state", state_name(s.state)}};
    if (s.state == SlotState::kClaimed) j["owner_pid"] = s.owner.pid;
    if (s.state != SlotState::kPresent) return j;
    const JobSummary& job = s.job;
    j.update({{"result_id", job.result_id},
              {"workunit_id", job.workunit_id},
              {"app_id", job.app_id},
              {"app", app_name(view, job.app_id)},
              {"batch", job.batch},
              {"priority", job.priority},
              {"wu_priority", job.wu_priority},
              {"size_class", job.size_class},
              {"hr_class", job.hr_class},
              {"app_version_id", job.app_version_id},
              {"app_version_num", job.app_version_num},
              {"rsc_fpops_est", job.rsc_fpops_est},
              {"rsc_memory_bound", job.rsc_memory_bound},
              {"rsc_disk_bound", job.rsc_disk_bound},
              {"delay_bound", job.delay_bound},
              {"need_reliable", job.need_reliable != 0},
              {"age", view.now - job.time_added},
              {"infeasible_count", s.infeasible},
              {"passed_over", s.passed_over}});
    return j;
}

}  // namespace

ArrayView look_at_array(const JobArray& array, std::int64_t now) {
    ArrayView view;
    view.segment = array.segment();
    view.stats = array.stats();
    view.current = array.current();
    view.feeder_alive = is_alive(view.stats.feeder);
    view.tables = array.tables();
    view.now = now;
    for (std::uint32_t i = 0; i < array.size(); ++i) {
        SlotView& s = view.slots.emplace_back();
        SlotRef ref;
        s.slot = i;
        s.state = array.read(i, s.job, ref);
        if (s.state == SlotState::kClaimed) s.owner = array.owner_of_slot(i).value_or(ProcessId{});
        s.infeasible = array.infeasible_count(i);
        s.passed_over = array.passed_over_count(i);
    }
    return view;
}

std::string dump_text(const ArrayView& view) {
    const JobArrayStats& s = view.stats;
    std::string text = fmt::format(
        "job array {}: {}\n{}\nslots: {} of {} present, {} claimed, {} empty\nmemory: {:.1f} MB, {:.1f} of {:.1f} MB of cold data in use\n"
        "claims lost to another scheduler: {}; slots given back after their owner's death: {}; claims that no scheduler "
        "of ours writes, mended: {}\n",
        view.segment,
        !view.current ? "CLOSED"
        : s.ready     ? "ready"
                      : "not ready",
        feeder_line(view), s.present, s.slots, s.claimed, s.empty, static_cast<double>(s.segment_bytes) / 1e6,
        static_cast<double>(s.doc_bytes_used) / 1e6, static_cast<double>(s.doc_bytes_total) / 1e6, s.claims_lost,
        s.reclaimed, s.mended);
    text += tables_text(view);
    text += fmt::format("{:>5} {:12} {:>10} {:>10} {:>8} {:>5} {:>8} {:>5} {:>8} {:>6} {:>6}\n", "slot", "app", "WU ID",
                        "result ID", "batch", "size", "priority", "HR", "age (s)", "infeas", "passed");
    for (const SlotView& slot : view.slots) text += slot_line(view, slot);
    return text;
}

std::string shape_text(const ArrayView& view) {
    std::string text = fmt::format("{}\nslots: {} of {} present, {} claimed, {} empty\n{:20} {:>5} {:>5} {:>6}",
                                   feeder_line(view), view.stats.present, view.stats.slots, view.stats.claimed,
                                   view.stats.empty, "app", "size", "HR", "jobs");
    for (const auto& [age, label] : kAges) text += fmt::format(" {:>7}", label);
    text += fmt::format(" {:>7} {:>9}\n", "older", "passed");
    for (const auto& [key, row] : shape_of(view)) {
        const auto& [app, size_class, hr_class] = key;
        text += fmt::format("{:20} {:>5} {:>5} {:>6}", app_name(view, app), size_class, hr_class, row.jobs);
        for (const int n : row.by_age) text += fmt::format(" {:>7}", n);
        text += fmt::format(" {:>9}\n", row.passed_over);
    }
    return text;
}

std::string array_json(const ArrayView& view) {
    const JobArrayStats& s = view.stats;
    nlohmann::json j{
        {"segment", view.segment},
        {"ready", s.ready},
        {"current", view.current},
        {"feeder", {{"pid", s.feeder.pid}, {"alive", view.feeder_alive}, {"heartbeat", s.feeder_heartbeat}}},
        {"triggers", view.triggers},
        {"slots", s.slots},
        {"present", s.present},
        {"claimed", s.claimed},
        {"empty", s.empty},
        {"segment_bytes", s.segment_bytes},
        {"claims_lost", s.claims_lost},
        {"reclaimed", s.reclaimed},
        {"mended", s.mended},
        {"tables",
         {{"generation", s.table_generation},
          {"platforms", view.tables->platforms.size()},
          {"apps", view.tables->apps.size()},
          {"versions", view.tables->versions.size()},
          {"broadcasts", view.tables->broadcasts.size()}}}};
    for (const auto& [key, row] : shape_of(view)) {
        const auto& [app, size_class, hr_class] = key;
        j["shape"].push_back({{"app_id", app},
                              {"app", app_name(view, app)},
                              {"size_class", size_class},
                              {"hr_class", hr_class},
                              {"jobs", row.jobs},
                              {"by_age", row.by_age},
                              {"passed_over", row.passed_over}});
    }
    if (!j.contains("shape")) j["shape"] = nlohmann::json::array();
    j["jobs"] = nlohmann::json::array();
    for (const SlotView& slot : view.slots) j["jobs"].push_back(slot_json(view, slot));
    return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace sluice
