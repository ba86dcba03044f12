// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/owners_page.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include "sluice/base/text.h"
#include "sluice/svg/charts.h"

namespace sluice {

std::string state_name(BatchState state) {
    switch (state) {
        case BatchState::kInit: return "new";
        case BatchState::kInProgress: return "in progress";
        case BatchState::kComplete: return "complete";
        case BatchState::kAborted: return "aborted";
        case BatchState::kRetired: return "retired";
    }
    return "state " + std::to_string(static_cast<int>(state));
}

std::string utc_text(double time) {
    if (!(time > 0) || time > 253402300799.0) return "-";  // the year 9999
    return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(time)));
}

std::string time_span_text(double seconds) {
    if (seconds < 60) return fmt::format("{:.0f} s", seconds);
    if (seconds < 3600) return fmt::format("{:.0f} min", seconds / 60);
    if (seconds < 2 * 86400) return fmt::format("{:.1f} h", seconds / 3600);
    return fmt::format("{:.1f} d", seconds / 86400);
}

std::string expected_text(double now, double expected, const EtaFactors& factors) {
    const EtaBand band = eta_band(now, expected, factors);
    return fmt::format("in {}; with 80 % probability in {} to {}", time_span_text(expected - now),
                       time_span_text(band.from - now), time_span_text(band.until - now));
}

namespace {

constexpr std::size_t kMostUsers = 6;  ///< in the chart: those of the largest quotas

constexpr const char* kStyle = R"(h2 { font-size: 18px; margin: 20px 0 4px; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: 4px 8px; text-align: left; border-bottom: 1px solid #ddd; }
th { font-weight: bold; }
.n { text-align: right; white-space: nowrap; }
.t { overflow-wrap: anywhere; min-width: 80px; }
progress { width: 110px; }
svg, .u { max-width: 760px; }
)";

std::string cell(const std::string& text) { return "<td>" + xml_escape(text) + "</td>"; }
std::string number(const std::string& text) { return "<td class=\"n\">" + text + "</td>"; }
/// A name that people gave, which may be one long word.
std::string name(const std::string& text) { return "<td class=\"t\">" + xml_escape(text) + "</td>"; }

std::string ends_text(const Batch& b, double now, const EtaFactors& factors) {
    if (b.completion_time > 0) return "ended " + utc_text(static_cast<double>(b.completion_time));
    if (b.state != BatchState::kInProgress) return "";
    if (utc_text(b.est_completion_time) == "-") return "not known";
    if (b.est_completion_time <= now) return "overdue since " + utc_text(b.est_completion_time);
    return utc_text(b.est_completion_time) + " (" + expected_text(now, b.est_completion_time, factors) + ")";
}

std::string row(const OwnedBatch& o, double now, const EtaFactors& factors) {
    const Batch& b = o.row;
    const double part = std::isfinite(b.fraction_done) ? std::clamp(b.fraction_done, 0.0, 1.0) : 0;
    std::string out = "<tr>" + number(std::to_string(b.id)) + name(b.name) +
                      name(fmt::format("{} ({})", o.user_name, b.user_id)) + name(o.app_name) +
                      cell(state_name(b.state));
    out += fmt::format("<td class=\"n\"><progress max=\"1\" value=\"{0:.4f}\">{1:.1f} %</progress> {1:.1f} %</td>",
                       part, 100 * part);
    out += number(std::to_string(b.njobs)) + number(std::to_string(b.nerror_jobs));
    return out + cell(ends_text(b, now, factors)) + "</tr>\n";
}

std::string table(const OwnersPage& page) {
    if (page.batches.empty()) return "<p>There are no batches.</p>\n";
    std::string out =
        "<table>\n<tr><th class=\"n\">batch</th><th>name</th><th>owner</th><th>app</th><th>state</th>"
        "<th class=\"n\">done</th><th class=\"n\">jobs</th><th class=\"n\">failed</th><th>ends</th></tr>\n";
    for (auto b = page.batches.rbegin(); b != page.batches.rend(); ++b) out += row(*b, page.now, page.eta_factors);
    return out + "</table>\n";
}

/// What each user got of all work of the days shown, and what part his quota is of all.
std::string users_table(const std::vector<ShareUser>& users, double quotas, const std::vector<DailyWork>& days) {
    std::map<Id, double> got;
    double all = 0;
    for (const DailyWork& d : days)
        if (std::isfinite(d.operations) && d.operations > 0) all += d.operations, got[d.user_id] += d.operations;
    std::string out =
        "<table class=\"u\">\n<tr><th class=\"n\">user</th><th>name</th><th class=\"n\">quota</th><th class=\"n\">got in " +
        std::to_string(kDaysShown) + " days</th></tr>\n";
    const auto percent = [](double part, double whole) {
        return number(whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-");
    };
    for (const ShareUser& u : users)
        out += "<tr>" + number(std::to_string(u.id)) + name(u.name) + percent(u.quota, quotas) +
               percent(got[u.id], all) + "</tr>\n";
    return out + "</table>\n";
}

/// Each user's part of a day's work, and dashed his quota's part of all quotas.
std::string shares(const OwnersPage& page) {
    double quotas = 0;
    std::vector<ShareUser> shown = page.users;
    for (ShareUser& u : shown) quotas += u.quota = std::clamp(u.quota, 0.0, share::kMostQuota);  // as shares count them
    std::stable_sort(shown.begin(), shown.end(),
                     [](const ShareUser& a, const ShareUser& b) { return a.quota > b.quota; });
    const std::string all_users = users_table(shown, quotas, page.days);
    const std::string some = shown.size() > kMostUsers ? fmt::format("the {} largest quotas", kMostUsers) : "users";
    if (shown.size() > kMostUsers) shown.resize(kMostUsers);
    std::map<std::int64_t, std::map<Id, double>> by_day;
    for (const DailyWork& d : page.days)
        if (std::isfinite(d.operations) && d.operations > 0) by_day[d.day][d.user_id] += d.operations;
    const auto first = static_cast<std::int64_t>(page.now / 86400) - kDaysShown + 1;
    std::vector<svg::Series> series;
    for (std::size_t u = 0; u < shown.size() && !by_day.empty(); ++u) {
        svg::Series got{fmt::format("{} {}", shown[u].id, shown[u].name), {}, false, u}, quota{"", {}, true, u};
        for (const auto& [day, users] : by_day) {
            if (day < first) continue;
            double all = 0;
            for (const auto& [user, operations] : users) all += operations;
            const auto mine = users.find(shown[u].id);
            const auto x = static_cast<double>(day - first);
            got.points.emplace_back(x, mine == users.end() ? 0 : 100 * mine->second / all);
            if (quotas > 0) quota.points.emplace_back(x, 100 * shown[u].quota / quotas);
        }
        series.push_back(std::move(got));
        series.push_back(std::move(quota));
    }
    return svg::line_chart({"Shares of " + some + " (dashed: their quotas)",
                            fmt::format("days since {:.10} ({} is today)", utc_text(static_cast<double>(first) * 86400),
                                        kDaysShown - 1),
                            "part of the work, %"},
                           series) +
           all_users;
}

}  // namespace

std::string owners_page(const OwnersPage& page) {
    std::string out = svg::page_head("Batches", kStyle, "<meta http-equiv=\"refresh\" content=\"300\">\n");
    out += "<h1>Batches of " + xml_escape(page.project) + "</h1>\n<p>As of " + utc_text(page.now) + ".</p>\n";
    out += table(page) + "<h2>What users got</h2>\n" + shares(page);
    return out + "</body>\n</html>\n";
}

}  // namespace sluice
