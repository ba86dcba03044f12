// SPDX-License-Identifier: LGPL-3.0-or-later
// "Stale" without JavaScript: no text knows what time it is, but a style can wait. Five minutes after it was loaded a
// page says that it is old; a script, where one runs, goes by the time at which the page was written instead.
#include "daemons/status/page.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iterator>
#include <map>

#include "sluice/base/text.h"
#include "sluice/match/reasons.h"
#include "sluice/svg/charts.h"

namespace sluice {
namespace {

constexpr std::size_t kMostRows = 50;
constexpr double kDayLong = 86400;

constexpr const char* kPageStyle = R"(
body { color: var(--fg); background: var(--bg); max-width: 1280px; box-sizing: border-box; overflow-wrap: break-word; }
h1 { margin: 4px 0; } h2 { font-size: 18px; margin: 22px 0 6px; } p { margin: 4px 0; } a { color: var(--c0); }
.soft { color: var(--soft); } .good { color: var(--good); } .bad { color: var(--bad); }
.sum { font-size: 17px; font-weight: bold; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 330px), 1fr)); gap: 14px; }
svg { border: 0; fill: var(--fg); max-width: 480px; font: 13px sans-serif; } svg .title { font-size: 14px; font-weight: bold; }
svg .grid { stroke: var(--line); } svg .tick { fill: var(--soft); font-size: 12px; } svg .name { font-size: 12.5px; }
table { border-collapse: collapse; } th, td { padding: 4px 10px 4px 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: normal; } .n { text-align: right; white-space: nowrap; }
.wide { overflow-x: auto; } th.n { white-space: normal; } td.good, td.bad { white-space: nowrap; }
@media (max-width: 480px) { table { font-size: 13px; line-height: 1.3; } th, td { padding: 4px 7px 4px 0; } }
 .text { min-width: 220px; } summary { font-weight: bold; margin: 10px 0; cursor: pointer; }
.old { background: var(--bad); color: var(--bg); font-weight: bold; border-radius: 4px; max-height: 0; padding: 0 10px; overflow: hidden;
 animation: old 0s linear 300s forwards; }
@keyframes old { to { max-height: 8em; padding: 8px 10px; } }
.timed .old { animation: none; } .stale .old { max-height: 8em; padding: 8px 10px; }
)";

std::string utc(double time) {
    if (!(time > 0) || time > 253402300799.0) return "-";
    return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(time)));
}

/// "45 s", "12 min", "3.2 h", "4.1 d".
std::string span_text(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0) return "-";
    if (seconds < 90) return fmt::format("{:.0f} s", seconds);
    if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
    if (seconds < 2 * kDayLong) return fmt::format("{:.1f} h", seconds / 3600);
    return fmt::format("{:.1f} d", seconds / kDayLong);
}

std::string many(std::int64_t n) {
    return n >= SurveyStore::kMostCounted ? fmt::format("{}+", SurveyStore::kMostCounted) : std::to_string(n);
}
std::string td(const std::string& text) { return "<td>" + xml_escape(text) + "</td>"; }
std::string td_number(const std::string& text) { return "<td class=\"n\">" + xml_escape(text) + "</td>"; }
std::string table_of(const std::string& head, const std::string& rows) {
    return "<div class=\"wide\"><table>\n<tr>" + head + "</tr>\n" + rows + "</table></div>\n";
}

std::string head_of(const ProjectSurvey& s, const char* title) {
    std::string out = svg::page_head(
        s.project + ": " + title, svg::kColours + std::string(kPageStyle),
        fmt::format("<noscript><meta http-equiv=\"refresh\" content=\"{}\"></noscript>\n", kStaleAfter + 30));
    out += fmt::format("<h1>{}</h1>\n<p class=\"soft\">{}, written {}</p>\n", xml_escape(s.project), title, utc(s.now));
    return out + fmt::format(
                     "<p class=\"old\" role=\"status\">This page is more than {} minutes old: it says nothing about "
                     "now. If loading it again does not help, status_page has stopped.</p>\n",
                     kStaleAfter / 60);
}

/// Optional: without it the page is complete.
std::string script_of(double written) {
    return fmt::format(
        "<script>(function () {{ var root = document.documentElement; function look() {{ root.className = Date.now() / 1000 - {:.0f} > {} ? "
        "'timed stale' : 'timed'; }} look(); setInterval(look, 5000); setTimeout(function () {{ location.reload(); }}, "
        "60000); }})();</script>\n",
        written, kStaleAfter);
}

std::string summary(const ProjectSurvey& s) {
    const std::vector<std::string> wrong = troubles(s);
    if (wrong.empty()) return "<p class=\"sum good\">&#10003; The project is up.</p>\n";
    std::string out;
    for (const std::string& w : wrong) out += "<p class=\"sum bad\">&#10007; " + xml_escape(w) + "</p>\n";
    return out;
}

svg::Series line(const char* name, std::vector<std::pair<double, double>> points, std::size_t colour) {
    return {name, std::move(points), false, colour};
}

std::string charts_of(const History& h, const svg::TimeSpan& span, const std::string& title) {
    const double from = span.from;
    const auto chart = [&](const char* name, const std::vector<svg::Series>& series) {
        return svg::time_chart(fmt::format("{}, {}", name, title), span, series);
    };
    return "<div class=\"charts\">\n" +
           chart("Jobs", {line("unsent", h.values(Tracked::kUnsent, from), 0),
                          line("in progress", h.values(Tracked::kInProgress, from), 1)}) +
           chart("Workunits that wait", {line("to be validated", h.values(Tracked::kToValidate, from), 2),
                                         line("to be assimilated", h.values(Tracked::kToAssimilate, from), 3)}) +
           chart("Jobs in the array", {line("jobs", h.values(Tracked::kInArray, from), 4)}) +
           chart("Requests an hour", {line("all", h.per_hour(Tracked::kRequests, from), 0),
                                      line("with jobs", h.per_hour(Tracked::kWithJobs, from), 2)}) +
           chart("Requests without jobs an hour",
                 {line("none for the host", h.per_hour(Tracked::kWithoutJobs, from), 1),
                  line("refused", h.per_hour(Tracked::kNotServed, from), 3)}) +
           chart("Jobs an hour", {line("sent", h.per_hour(Tracked::kJobsSent, from), 0),
                                  line("reported", h.per_hour(Tracked::kReported, from), 2)}) +
           "</div>\n";
}

std::string charts(const StatusPage& page) {
    const double now = page.survey.now;
    // A history that has just begun fills the charts, too.
    const double oldest = page.history.samples().empty() ? now : page.history.samples().front().time;
    const double length = std::clamp(now - oldest, 600.0, kDayLong);
    const std::string title = length < kDayLong ? span_text(length) : "24 hours";
    const std::string shorter = charts_of(page.history, {now - length, now}, title);
    if (length < kDayLong) return shorter;
    return shorter + "<details>\n<summary>The last 7 days</summary>\n" +
           charts_of(page.history, {now - 7 * kDayLong, now}, "7 days") + "</details>\n";
}

std::string app_title(const ProjectSurvey& s, Id app) {
    const auto it = std::ranges::find(s.work, app, &AppWork::app);
    if (it == s.work.end()) return fmt::format("app {}", app);
    return in_one_line(it->title.empty() ? it->name : it->title, 60);
}

std::string array_section(const ProjectSurvey& s) {
    if (!s.array) return "<h2>Job array</h2>\n<p class=\"bad\">There is none: no jobs are handed out.</p>\n";
    std::vector<svg::PartOfBar> parts;
    std::size_t colour = 0;
    for (const ArrayPart& p : s.array->parts) {
        const std::string name =
            p.size_class >= 0 ? fmt::format("{}, class {}", app_title(s, p.app), p.size_class) : app_title(s, p.app);
        if (parts.size() < 11)
            parts.push_back({name, static_cast<double>(p.present), colour++});
        else
            parts.back().name = "others", parts.back().value += static_cast<double>(p.present);
    }
    const ArrayShape& a = *s.array;
    return "<h2>Job array</h2>\n<div class=\"charts\">\n" +
           svg::divided_bar(fmt::format("{} slots", a.slots), {{"with a job", static_cast<double>(a.present), 0},
                                                               {"being sent", static_cast<double>(a.claimed), 1},
                                                               {"empty", static_cast<double>(a.empty), 5}}) +
           svg::divided_bar("Jobs in it", parts) + "</div>\n";
}

std::string work_section(const ProjectSurvey& s) {
    std::string rows;
    for (const AppWork& a : s.work) {
        const auto day = std::ranges::find(s.last_day, a.app, &AppDay::app);
        const bool any = day != s.last_day.end();
        rows += "<tr>" + td(in_one_line(a.title.empty() ? a.name : a.title, 60)) + td_number(many(a.unsent)) +
                td_number(many(a.in_progress)) + td_number(many(a.to_validate)) + td_number(many(a.to_assimilate)) +
                td_number(any ? span_text(day->mean_runtime) : "-") + td_number(any ? many(day->users) : "-") +
                "</tr>\n";
    }
    std::string out = "<h2>Work</h2>\n";
    if (s.work.empty()) return out + "<p>Not known.</p>\n";
    out += table_of(
        "<th>application</th><th class=\"n\">unsent</th><th class=\"n\">in progress</th><th class=\"n\">to "
        "validate</th><th class=\"n\">to assimilate</th><th class=\"n\">mean run time, 24 h</th><th class=\"n\">users, 24 h</th>",
        rows);
    if (s.backlog)
        out += fmt::format("<p>Transitions due: {}{}. Files to delete: {} of workunits, {} of results.</p>\n",
                           many(s.backlog->transitions),
                           s.backlog->oldest_transition > 0
                               ? fmt::format(", the oldest for {}", span_text(s.now - s.backlog->oldest_transition))
                               : "",
                           many(s.backlog->workunit_files), many(s.backlog->result_files));
    return out;
}

std::string end_of_batch(const OpenBatch& b, double now, const EtaFactors& factors) {
    if (b.stopped) return "stopped";
    if (!(b.expected > 0)) return "not known";
    if (b.expected <= now) return "late by " + span_text(now - b.expected);
    const EtaBand band = eta_band(now, b.expected, factors);
    return fmt::format("in {} ({} to {})", span_text(b.expected - now), span_text(band.from - now),
                       span_text(band.until - now));
}

std::string batches_section(const StatusPage& page) {
    const ProjectSurvey& s = page.survey;
    if (s.batches.empty()) return "";
    std::string rows;
    for (const OpenBatch& b : s.batches) {
        std::string end = end_of_batch(b, s.now, s.eta_factors);
        for (const std::string& note : b.notes) end += "; " + in_one_line(note, 300);
        rows += "<tr>" + td_number(std::to_string(b.id)) + (page.for_admin ? td(in_one_line(b.name, 60)) : "") +
                td(b.app) + td_number(std::to_string(b.jobs)) + td_number(fmt::format("{:.1f} %", 100 * b.done)) +
                td_number(std::to_string(b.failed)) +
                (b.notes.empty() ? td(end) : "<td class=\"text\">" + xml_escape(end) + "</td>") + "</tr>\n";
    }
    return "<h2>Batches</h2>\n" +
           table_of(
               fmt::format("<th class=\"n\">batch</th>{}<th>application</th><th class=\"n\">jobs</th><th class=\"n\">"
                           "done</th><th class=\"n\">failed</th><th>ends (80 % sure)</th>",
                           page.for_admin ? "<th>name</th>" : ""),
               rows);
}

std::string community_section(const ProjectSurvey& s) {
    if (!s.community) return "";
    const Community& c = *s.community;
    std::vector<svg::PartOfBar> speeds;
    std::size_t colour = 0;
    for (const SpeedClass& v : c.speeds) {
        const std::string name = fmt::format("{:.3g} to {:.3g} GFLOPS", v.from / 1e9, v.from / 5e8);
        if (speeds.size() < 8)
            speeds.push_back({name, static_cast<double>(v.hosts), colour++});
        else
            speeds.back().name = "faster", speeds.back().value += static_cast<double>(v.hosts);
    }
    return "<h2>Computers</h2>\n<div class=\"charts\">\n" + svg::divided_bar("Hosts by speed of a processor", speeds) +
           "</div>\n" +
           fmt::format(
               "<p>{} computers and {} users with recent credit; {} and {} new in 24 hours. About {:.0f} GFLOPS.</p>\n",
               many(c.hosts.with_recent_credit), many(c.users.with_recent_credit), many(c.hosts.new_today),
               many(c.users.new_today), std::max(c.recent_credit, 0.0) / 200);
}

struct LifeSigns {
    double turn = 0, error = 0;
};
std::map<std::string, LifeSigns> life_signs(const MetricFiles& counts) {
    std::map<std::string, LifeSigns> signs;
    for (const ProgramMetrics& p : counts.programs) {
        if (p.program == "web") continue;
        for (const MetricCell& cell : p.cells) {
            if (cell.labels.name != metric_label(p.program)) continue;
            const auto time = static_cast<double>(cell.value);
            if (cell.metric == Metric::kLastTurn) signs[p.program].turn = time;
            if (cell.metric == Metric::kLastError) signs[p.program].error = time;
        }
    }
    return signs;
}

std::string daemons_section(const StatusPage& page) {
    const ProjectSurvey& s = page.survey;
    const auto signs = life_signs(page.counts);
    std::string rows;
    for (const ProgramState& p : s.daemons) {
        if (p.disabled && !page.for_admin) continue;
        const auto life = signs.find(p.program);
        const auto since = [&](double time) { return time > 0 && time <= s.now ? span_text(s.now - time) : "-"; };
        rows += "<tr>" + td(p.command) +
                (p.disabled  ? "<td class=\"soft\">disabled</td>"
                 : p.running ? "<td class=\"good\">&#10003; runs</td>"
                             : "<td class=\"bad\">&#10007; does not run</td>") +
                td_number(since(life == signs.end() ? 0 : life->second.turn)) +
                td_number(since(life == signs.end() ? 0 : life->second.error)) + "</tr>\n";
    }
    std::string out = "<h2>Programs</h2>\n";
    if (rows.empty()) return out + "<p>config.xml names none for this host.</p>\n";
    return out +
           table_of(
               "<th>daemon</th><th>state</th><th class=\"n\">last turn, ago</th><th class=\"n\">last error, ago</th>",
               rows);
}

// ---- what the admin sees besides --------------------------------------------------------------------------------

std::string reasons_section(const MetricFiles& counts) {
    std::map<std::uint32_t, std::uint64_t> refused, binding;
    for (const ProgramMetrics& p : counts.programs) {
        for (const MetricCell& cell : p.cells) {
            if (cell.metric == Metric::kRefusals) refused[cell.labels.name] += cell.value;
            if (cell.metric == Metric::kBinding) binding[cell.labels.name] += cell.value;
        }
    }
    std::vector<std::pair<std::uint64_t, Reason>> order;
    for (std::size_t i = 1; i < static_cast<std::size_t>(Reason::kCount); ++i) {
        const auto reason = static_cast<Reason>(i);
        const std::uint32_t label = metric_label(reason_name(reason));
        if (refused.contains(label) || binding.contains(label)) order.emplace_back(binding[label], reason);
    }
    std::ranges::stable_sort(order, std::ranges::greater{}, [](const auto& o) { return o.first; });
    std::string rows;
    for (const auto& [requests, reason] : order)
        rows += "<tr>" + td(reason_name(reason)) + td_number(std::to_string(requests)) +
                td_number(std::to_string(refused[metric_label(reason_name(reason))])) + "<td class=\"text\">" +
                xml_escape(reason_advice(reason)) + "</td>" + "</tr>\n";
    if (rows.empty()) return "";
    return "<h2>Why hosts got no work</h2>\n" +
           table_of(
               "<th>reason</th><th class=\"n\">requests without work</th><th class=\"n\">jobs refused</th><th>what it means</th>",
               rows);
}

std::string shares_section(const ProjectSurvey& s) {
    if (s.shares.empty()) return "";
    std::string rows;
    std::size_t n = 0;
    for (const ShareOfUser& u : s.shares)
        if (++n <= kMostRows)
            rows += "<tr>" + td_number(std::to_string(u.user)) + td_number(fmt::format("{:.1f} %", 100 * u.owed)) +
                    td_number(fmt::format("{:.1f} %", 100 * u.got)) + "</tr>\n";
    return "<h2>Shares</h2>\n" +
           table_of("<th class=\"n\">user</th><th class=\"n\">quota</th><th class=\"n\">got in 30 days</th>", rows);
}

std::string errors_section(const StatusPage& page) {
    std::string out;
    const auto say = [&](const std::string& text) {
        if (!text.empty()) out += "<p class=\"bad\">" + xml_escape(in_one_line(text, 500)) + "</p>\n";
    };
    say(page.survey.database_error);
    say(page.survey.array_error);
    say(page.survey.uploads_error);
    say(page.survey.downloads_error);
    for (const std::string& problem : page.counts.problems) say(problem);
    return out.empty() ? "" : "<h2>Errors</h2>\n" + out;
}

std::string statements_section(const MetricFiles& counts) {
    std::string rows;
    for (const ProgramMetrics& p : counts.programs) {
        std::uint64_t statements = 0, again = 0;
        for (const MetricCell& cell : p.cells) {
            if (cell.metric == Metric::kSqlStatements) statements += cell.value;
            if (cell.metric == Metric::kSqlRetries) again += cell.value;
        }
        if (statements > 0)
            rows += "<tr>" + td(p.program == "web" ? "scheduler (CGI)" : p.program) +
                    td_number(std::to_string(statements)) + td_number(std::to_string(again)) + "</tr>\n";
    }
    if (rows.empty()) return "";
    return "<h2>SQL statements</h2>\n" +
           table_of("<th>program</th><th class=\"n\">statements</th><th class=\"n\">transactions done again</th>",
                    rows);
}

std::string versions(const StatusPage& page) {
    const ProjectSurvey& s = page.survey;
    std::string out = "<p class=\"soft\">Sluice " + xml_escape(s.version);
    if (!s.schema_revision.empty()) out += ", schema " + xml_escape(s.schema_revision);
    if (page.for_admin) out += ", database server " + xml_escape(s.server_version) + ", host " + xml_escape(s.host);
    return out + ".</p>\n";
}

}  // namespace

namespace {

/// For everybody: what is wrong with the database, without its names. The admin's page has the error itself.
std::string database_trouble(DbError::Kind kind, int code) {
    const std::string nothing_works = ": no jobs are handed out, and no results are taken.",
                      no_figures = ": this page has no figures.";
    switch (code) {
        case 1044:
        case 1045:
        case 1698: return "The database refuses the project's account" + nothing_works;
        case 1049: return "The database server does not have the project's database" + nothing_works;
        case 1040:
        case 1203:
        case 1226: return "The database has no connection free" + no_figures;
        case 1054:
        case 1146: return "The database lacks a table or a column that this page reads" + no_figures;
        case 1142:
        case 1143: return "The database does not let this page read a table" + no_figures;
        default: break;
    }
    switch (kind) {
        case DbError::Kind::kCantConnect: return "The database does not answer" + nothing_works;
        case DbError::Kind::kLost: return "The database broke off the connection while this page read it" + no_figures;
        case DbError::Kind::kRetry: return "The database is too busy to answer this page's questions" + no_figures;
        case DbError::Kind::kDuplicate:
        case DbError::Kind::kOther: break;
    }
    return "The database refuses a question of this page" + no_figures;
}

}  // namespace

std::vector<std::string> troubles(const ProjectSurvey& s) {
    std::vector<std::string> wrong;
    if (!s.database) wrong.push_back(database_trouble(s.database_error_kind, s.database_error_code));
    if (s.scheduler_stopped) wrong.emplace_back("The scheduler is stopped for maintenance (stop_sched).");
    if (!s.scheduler_stopped && !(s.array && s.array->ready))
        wrong.emplace_back("The feeder has no jobs ready: no jobs are handed out.");
    if (s.uploads_stopped) wrong.emplace_back("Uploads are stopped for maintenance (stop_upload).");
    if (!s.uploads_error.empty())
        wrong.emplace_back("Uploads do not work at the moment: computers keep their results and try again.");
    if (!s.downloads_error.empty())
        wrong.emplace_back("Downloads do not work at the moment: new jobs wait for their files, or fail.");
    for (const auto& [app, hour] : s.last_hour) {
        if (hour.downloads_fail()) wrong.push_back(app_title(s, app) + ": files of most jobs can't be downloaded.");
        if (hour.none_is_valid()) wrong.push_back(app_title(s, app) + ": no result of the last hour was valid.");
    }
    for (const ProgramState& p : s.daemons)
        if (!p.disabled && !p.running) wrong.push_back(p.command + " does not run.");
    return wrong;
}

std::string status_page(const StatusPage& page) {
    const ProjectSurvey& s = page.survey;
    std::string out = head_of(s, page.for_admin ? "status for admins" : "status");
    out += summary(s);
    if (page.for_admin) out += errors_section(page);
    out += charts(page) + work_section(s) + array_section(s) + batches_section(page) + community_section(s) +
           daemons_section(page);
    if (page.for_admin) out += reasons_section(page.counts) + shares_section(s) + statements_section(page.counts);
    return out + versions(page) + script_of(s.now) + "</body>\n</html>\n";
}

namespace {

/// What upstream's page prints where it has nothing is 0.
std::string element(const char* name, double value) {
    const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
    return whole ? fmt::format("   <{0}>{1:.0f}</{0}>\n", name, value)
                 : fmt::format("   <{0}>{1:.6f}</{0}>\n", name, value);
}
std::string element(const char* name, const std::string& text) {
    return fmt::format("   <{0}>{1}</{0}>\n", name, xml_escape(text, true));
}

std::string daemon_element(const std::string& host, const std::string& command, const char* status) {
    return "  <daemon>\n" + element("host", host) + element("command", command) +
           element("status", std::string(status)) + "  </daemon>\n";
}

/// Hours, rounded up to hundredths.
double hours_up(double seconds) { return std::ceil(seconds / 36) / 100; }

}  // namespace

std::string server_status_xml(const ProjectSurvey& s) {
    const auto state = [](bool runs) { return runs ? "running" : "not running"; };
    std::string out = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n<server_status>\n<daemon_status>\n";
    out += daemon_element(s.host, "Download server", state(s.downloads_error.empty()));
    out += daemon_element(s.host, "Upload server", state(!s.uploads_stopped && s.uploads_error.empty()));
    out += daemon_element(s.host, "Scheduler", state(!s.scheduler_stopped));
    for (const bool disabled : {false, true})
        for (const ProgramState& p : s.daemons)
            if (p.disabled == disabled)
                out += daemon_element(s.host, p.command, disabled ? "disabled" : state(p.running));
    out += "</daemon_status>\n<database_file_states>\n";
    AppWork sum;
    for (const AppWork& a : s.work) {
        sum.unsent += a.unsent, sum.in_progress += a.in_progress;
        sum.to_validate += a.to_validate, sum.to_assimilate += a.to_assimilate;
    }
    const WorkBacklog b = s.backlog.value_or(WorkBacklog{});
    const Community c = s.community.value_or(Community{});
    const auto number = [&](const char* name, std::int64_t n) { out += element(name, static_cast<double>(n)); };
    number("results_ready_to_send", sum.unsent);
    number("results_in_progress", sum.in_progress);
    number("workunits_waiting_for_validation", sum.to_validate);
    number("workunits_waiting_for_assimilation", sum.to_assimilate);
    number("workunits_waiting_for_deletion", b.workunit_files);
    number("results_waiting_for_deletion", b.result_files);
    out += element("transitioner_backlog_hours",
                   b.oldest_transition > 0 ? std::max(0.0, s.now - b.oldest_transition) / 3600 : 0);
    number("users_with_recent_credit", c.users.with_recent_credit);
    number("users_with_credit", c.users.with_credit);
    number("users_registered_in_past_24_hours", c.users.new_today);
    number("hosts_with_recent_credit", c.hosts.with_recent_credit);
    number("hosts_with_credit", c.hosts.with_credit);
    number("hosts_registered_in_past_24_hours", c.hosts.new_today);
    out += element("current_floating_point_speed", c.recent_credit / 200);
    out += "<tasks_by_app>\n";
    for (const AppWork& a : s.work) {
        out += "<app>\n";
        number("id", a.app);
        out += element("name", a.name);
        number("unsent", a.unsent);
        number("in_progress", a.in_progress);
        const auto day = std::ranges::find(s.last_day, a.app, &AppDay::app);
        if (day != s.last_day.end())
            out += element("avg_runtime", hours_up(day->mean_runtime)) +
                   element("min_runtime", hours_up(day->least_runtime)) +
                   element("max_runtime", hours_up(day->most_runtime)) +
                   element("users", static_cast<double>(day->users));
        out += "</app>\n";
    }
    return out + "</tasks_by_app>\n</database_file_states>\n</server_status>\n";
}

}  // namespace sluice
