// SPDX-License-Identifier: LGPL-3.0-or-later
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sluice/match/trace_text.h"

namespace sluice {
namespace {

const char* app_name(const TraceRow& row) { return row.app ? row.app->name.c_str() : "?"; }

std::string measured(const Verdict& v) {
    if (v.value == 0 && v.required == 0) return {};
    const char* unit = reason_unit(v.reason);
    return fmt::format(" (has {:g}, needs {:g}{}{})", v.value, v.required, *unit ? " " : "", unit);
}

nlohmann::json number(double v) { return std::isfinite(v) ? nlohmann::json(v) : nlohmann::json(); }

}  // namespace

std::string trace_log_line(const TraceRow& row) {
    const JobSummary& job = *row.job;
    const std::string who = fmt::format("[slot {}] [RESULT#{}] [WU#{}] {} {}", row.ref.index, job.result_id,
                                        job.workunit_id, app_name(row), proc_type_name(row.resource));
    const std::string score = row.share_band ? fmt::format("share band {}, score {:.2f}", *row.share_band, row.score)
                                             : fmt::format("score {:.2f}", row.score);
    if (row.fate == Reason::kFeasible) return fmt::format("{}: sent, {}", who, score);
    if (row.fate == Reason::kNotNeeded) return fmt::format("{}: {}, not needed", who, score);
    return fmt::format("{}: can't send: {}{}", who, reason_name(row.fate), measured(row.verdict));
}

std::string trace_scan_line(const MatchStats& s) {
    return fmt::format("scanned {} slots: {} candidates, {} locked, {} lost to others, {} look-ups", s.slots_scanned,
                       s.candidates, s.slots_locked, s.claims_lost, s.fact_loads);
}

std::string trace_json(const TraceRow& row) {
    nlohmann::ordered_json j;
    j["slot"] = row.ref.index;
    j["result"] = row.job->result_id;
    j["workunit"] = row.job->workunit_id;
    j["app"] = app_name(row);
    j["resource"] = proc_type_name(row.resource);
    if (row.version) {
        j["app_version"] = row.version->app_version_id;
        if (!row.version->plan_class.empty()) j["plan_class"] = row.version->plan_class;
    }
    if (row.host_size_class >= 0) {
        j["size_class"] = row.job->size_class;
        j["host_size_class"] = row.host_size_class;
        j["size_class_is_guess"] = row.size_is_guess;
    }
    if (row.verdict.reason != Reason::kFeasible) {
        j["refused"] = reason_name(row.verdict.reason);
        j["has"] = number(row.verdict.value);
        j["needs"] = number(row.verdict.required);
        if (const char* unit = reason_unit(row.verdict.reason); *unit) j["unit"] = unit;
    }
    if (!row.terms.empty()) {
        if (row.share_band) j["share_band"] = *row.share_band;
        j["score"] = number(row.score);
        auto& terms = j["terms"] = nlohmann::ordered_json::object();
        for (const auto& t : row.terms)
            terms[t.name] = {
                {"weight", number(t.weight)}, {"value", number(t.value)}, {"points", number(t.weight * t.value)}};
    }
    j["fate"] = row.fate == Reason::kFeasible ? "sent" : reason_name(row.fate);
    return j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void TraceLines::row(const TraceRow& row) {
    if (lines_.size() >= max_rows_) {
        ++dropped_;
        return;
    }
    lines_.push_back(style_ == Style::kJson ? trace_json(row) : trace_log_line(row));
}

}  // namespace sluice
