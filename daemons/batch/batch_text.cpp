// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch/batch_text.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sluice/base/text.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNameShown = 40;

/// Characters, not bytes, of UTF-8.
std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string owner_text(const BatchView& v) {
    const std::string id = std::to_string(v.batch.row.user_id);
    return v.batch.user_name.empty() ? id : in_one_line(v.batch.user_name, kNameShown) + " (" + id + ")";
}

std::string eta_text(const BatchView& v) {
    const auto eta = v.eta();
    if (!eta) return v.batch.row.state == BatchState::kInProgress ? "not known" : "-";
    return *eta <= v.now ? "overdue" : "in " + time_span_text(*eta - v.now);
}

/// The time, and how sure it is.
std::string eta_in_full(const BatchView& v) {
    const auto eta = v.eta();
    if (!eta) return v.no_eta.empty() ? eta_text(v) : "not known: " + v.no_eta;
    // A plan whose time has passed says no other.
    return utc_text(*eta) + " (" + (*eta <= v.now ? eta_text(v) : expected_text(v.now, *eta, v.eta_factors)) + ")";
}

std::string percent_text(const BatchView& v) {
    if (v.progress.njobs == 0) return "-";
    return fmt::format("{:.1f} %", 100.0 * v.progress.done() / v.progress.njobs);
}

Json json_of(const BatchView& v) {
    const Batch& b = v.batch.row;
    Json j{{"id", b.id},
           {"name", b.name},
           {"description", v.batch.description},
           {"user_id", b.user_id},
           {"user", v.batch.user_name},
           {"app", v.batch.app_name},
           {"state", state_name(b.state)},
           {"create_time", b.create_time},
           {"jobs", v.progress.njobs},
           {"done", v.progress.done()},
           {"succeeded", v.progress.success},
           {"errors", v.progress.errors},
           {"logical_start_time", b.logical_start_time},
           {"logical_end_time", b.logical_end_time},
           {"completion_time", b.completion_time > 0 ? Json(b.completion_time) : Json()},
           {"eta", v.eta() ? Json(*v.eta()) : Json()}};
    const auto eta = v.eta();
    const EtaBand band = eta ? eta_band(v.now, *eta, v.eta_factors) : EtaBand{};
    j["eta_band"] = eta ? Json{band.from, band.until} : Json();
    j["notes"] = Json::array();
    for (const BatchEvent& e : v.notes)
        j["notes"].push_back({{"event", event_name(e.kind)}, {"time", e.at}, {"says", e.says}});
    if (!v.no_eta.empty()) j["why_no_eta"] = v.no_eta;
    if (v.gangs) j["gangs"] = Json::parse(gangs_json(*v.gangs));
    if (!v.cost) return j;
    j["instances"] = v.cost->instances;
    j["instances_per_workunit"] = v.instances_per_workunit() ? Json(*v.instances_per_workunit()) : Json();
    j["core_hours"] = v.cost->seconds / 3600;
    j["wasted_core_hours"] = v.wasted_core_hours();
    j["copies"] = v.cost->copies;
    j["copies_wasted_core_hours"] = v.cost->copies_wasted_seconds / 3600;
    j["credit"] = v.progress.credit_canonical;
    return j;
}

}  // namespace

std::optional<double> BatchView::eta() const {
    const Batch& b = batch.row;
    if (b.state != BatchState::kInProgress || utc_text(b.est_completion_time) == "-") return std::nullopt;
    return b.est_completion_time;
}

std::optional<double> BatchView::instances_per_workunit() const {
    if (!cost || cost->workunits == 0) return std::nullopt;
    return static_cast<double>(cost->instances) / static_cast<double>(cost->workunits);
}

std::string text_table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
    std::vector<std::size_t> widths(right.size(), 0);
    for (const auto& row : rows)
        for (std::size_t i = 0; i < right.size(); ++i) widths[i] = std::max(widths[i], width_of(row.at(i)));
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < right.size(); ++i) {
            const std::string padding(widths[i] - width_of(row[i]), ' ');
            if (i > 0) line += "  ";
            line += right[i] ? padding + row[i] : row[i] + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

namespace {

struct MissingHosts {
    std::int64_t hosts = 0, since = 0;  ///< of all gangs; UNIX s, 0: none is missing
};
MissingHosts missing_hosts(const GangsOfBatch& gangs) {
    MissingHosts all;
    for (const GangWait& w : gangs.waits) {
        all.hosts += w.missing();
        if (w.short_since > 0) all.since = all.since > 0 ? std::min(all.since, w.short_since) : w.short_since;
    }
    return all;
}

}  // namespace

std::string gangs_text(const GangsOfBatch& g) {
    std::string text =
        fmt::format("{} of {} members: {} ended, {} wait for hosts", g.gangs, g.size, g.ended, g.waits.size());
    if (g.given_up > 0) text += fmt::format(", {} given up", g.given_up);
    if (!g.cut.empty())
        text += fmt::format(
            "; no reply can carry the XML of {} workunits, which is not whole ({}{}): their gangs are "
            "given to no hosts. Write it anew, or abort the batch",
            g.cut.size(), fmt::join(std::span(g.cut).first(std::min<std::size_t>(g.cut.size(), 5)), ", "),
            g.cut.size() > 5 ? ", …" : "");
    if (g.waits.empty()) return text;
    const MissingHosts missing = missing_hosts(g);
    if (missing.hosts > 0)
        text += fmt::format("; {} hosts are missing, since {}", missing.hosts,
                            utc_text(static_cast<double>(missing.since)));
    return text + "; " + gang_wait_text(g.waits.front(), utc_text);
}

std::string gangs_json(const GangsOfBatch& g) {
    const MissingHosts missing = missing_hosts(g);
    return Json{{"size", g.size},
                {"gangs", g.gangs},
                {"ended", g.ended},
                {"given_up", g.given_up},
                {"waiting", g.waits.size()},
                {"workunits_with_cut_xml", g.cut},
                {"hosts_missing", missing.hosts},
                {"missing_since", missing.since > 0 ? Json(missing.since) : Json()}}
        .dump();
}

namespace {

/// "slow, stopped": what needs somebody's attention, and no end that all expect.
std::string notes_in_short(const BatchView& v) {
    std::string text;
    for (const BatchEvent& e : v.notes)
        if (e.kind != BatchEventKind::kDone) text += (text.empty() ? "" : ", ") + std::string(event_name(e.kind));
    return text;
}

}  // namespace

std::string list_text(const std::vector<BatchView>& batches) {
    if (batches.empty()) return "There are no batches (retired ones are shown with --all).\n";
    std::vector<std::vector<std::string>> rows{
        {"BATCH", "NAME", "OWNER", "APP", "STATE", "JOBS", "DONE", "FAILED", "CREATED", "ETA"}};
    for (const BatchView& v : batches)
        rows.push_back({std::to_string(v.batch.row.id), in_one_line(v.batch.row.name, kNameShown), owner_text(v),
                        in_one_line(v.batch.app_name, kNameShown), state_name(v.batch.row.state),
                        std::to_string(v.progress.njobs), percent_text(v), std::to_string(v.progress.errors),
                        utc_text(static_cast<double>(v.batch.row.create_time)), eta_text(v)});
    std::vector<bool> right{true, false, false, false, false, true, true, true, false, false};
    // A column that is empty almost always would make the lines longer for nothing.
    if (std::ranges::any_of(batches, [](const BatchView& v) { return !notes_in_short(v).empty(); })) {
        rows[0].emplace_back("NOTES");
        for (std::size_t i = 0; i < batches.size(); ++i) rows[i + 1].push_back(notes_in_short(batches[i]));
        right.push_back(false);
    }
    return text_table(rows, right);
}

std::string list_json(const std::vector<BatchView>& batches) {
    Json all = Json::array();
    for (const BatchView& v : batches) all.push_back(json_of(v));
    return dump(all);
}

std::string show_text(const BatchView& v) {
    const Batch& b = v.batch.row;
    const auto instances = v.instances_per_workunit();
    std::vector<std::vector<std::string>> rows{
        {"batch", std::to_string(b.id)},
        {"name", in_one_line(b.name)},
        {"owner", owner_text(v)},
        {"app", v.batch.app_name},
        {"state", state_name(b.state)},
        {"created", utc_text(static_cast<double>(b.create_time))},
        {"jobs", std::to_string(v.progress.njobs)},
        {"done", fmt::format("{} ({})", v.progress.done(), percent_text(v))},
        {"failed", std::to_string(v.progress.errors)},
        {"instances per workunit", instances ? fmt::format("{:.3f}", *instances) : "-"},
        {"core-hours", fmt::format("{:.2f}", v.cost ? v.cost->seconds / 3600 : 0)},
        {"wasted core-hours", fmt::format("{:.2f}", v.wasted_core_hours())},
        {"ETA", eta_in_full(v)}};
    if (v.cost && v.cost->copies > 0)
        rows.insert(rows.end() - 1, {"copies", fmt::format("{} ({:.2f} core-hours of them wasted)", v.cost->copies,
                                                           v.cost->copies_wasted_seconds / 3600)});
    if (v.gangs) rows.push_back({"gangs", gangs_text(*v.gangs)});
    if (b.logical_end_time > 0) {
        rows.push_back({"logical start", utc_text(b.logical_start_time)});
        rows.push_back({"logical end", utc_text(b.logical_end_time)});
    }
    if (b.completion_time > 0) rows.push_back({"ended", utc_text(static_cast<double>(b.completion_time))});
    for (const BatchEvent& e : v.notes)
        rows.push_back({event_name(e.kind), utc_text(static_cast<double>(e.at)) + ": " + in_one_line(e.says, 500)});
    if (!v.batch.description.empty()) rows.push_back({"description", in_one_line(v.batch.description)});
    return text_table(rows, {false, false});
}

std::string show_json(const BatchView& batch) { return dump(json_of(batch)); }

std::string packed_text(const Batch& batch, const std::filesystem::path& archive, const Packed& packed) {
    const bool may_grow = batch.state == BatchState::kInit || batch.state == BatchState::kInProgress;
    return fmt::format("batch {}: {} files, {:.1f} MB, are in {} ({:.1f} MB){}\n", batch.id, packed.files,
                       static_cast<double>(packed.bytes) / 1e6, archive.string(),
                       static_cast<double>(packed.archive_bytes) / 1e6,
                       may_grow ? fmt::format("; it is {}: pack it again at its end", state_name(batch.state)) : "");
}

std::string packed_json(Id batch, const std::filesystem::path& archive, const Packed& packed) {
    return dump({{"id", batch},
                 {"archive", archive.string()},
                 {"files", packed.files},
                 {"bytes", packed.bytes},
                 {"archive_bytes", packed.archive_bytes}});
}

std::string progress_text(double fraction, std::size_t jobs, double seconds) {
    constexpr int kWidth = 20;
    if (!(fraction >= 0)) return fmt::format("{} jobs", jobs);
    fraction = std::min(fraction, 1.0);
    const int full = static_cast<int>(fraction * kWidth);
    std::string text = "[" + std::string(static_cast<std::size_t>(full), '#') +
                       std::string(static_cast<std::size_t>(kWidth - full), ' ') +
                       fmt::format("] {:3.0f} %  {} jobs", std::floor(100 * fraction), jobs);
    if (fraction > 0 && fraction < 1) text += ", " + time_span_text(seconds * (1 - fraction) / fraction) + " left";
    return text;
}

}  // namespace sluice
