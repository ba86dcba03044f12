// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/db/soak/week_voices.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "sluice/base/files.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

std::string alert_rules() { return source_dir() + "/config/monitoring/alerts.yml"; }

/// Each metric that an alert rule asks for.
std::set<std::string> metrics_of_alerts() {
    const std::string rules = read_file(alert_rules()).value();
    static const std::regex name("sluice_[a-z_]+");
    std::set<std::string> names;
    for (std::sregex_iterator at(rules.begin(), rules.end(), name), end; at != end; ++at) names.insert(at->str());
    return names;
}

std::string header_of(const std::string& mail, const std::string& name) {
    const auto at = ("\n" + mail).find("\n" + name + ": ");
    if (at == std::string::npos) return "";
    const auto begin = at + name.size() + 2;
    return mail.substr(begin, mail.find('\n', begin) - begin);
}

/// The checks that a mail names as not well.
std::string bad_lines(const std::string& mail) {
    static const std::regex bad("\n(degraded|broken) +(\\w+) +([^\n]*)");
    std::string text;
    for (std::sregex_iterator at(mail.begin(), mail.end(), bad), end; at != end; ++at)
        text += (text.empty() ? "" : "; ") + at->str(2) + ": " + at->str(3);
    return text;
}

}  // namespace

WeekVoices::WeekVoices(MonthProject& project, int metrics_port, double start, fs::path mails)
    : project_(project), port_(metrics_port), start_(start), mails_(std::move(mails)) {}

void WeekVoices::note(const std::string& voice, const Now& now) {
    auto& open = open_[voice];
    std::erase_if(open, [&](const auto& entry) { return !now.contains(entry.first); });
    for (const auto& [what, words] : now) {
        const auto [at, fresh] = open.emplace(what, complaints_.size());
        if (fresh) complaints_.push_back({voice, what, words.first, words.second, step_, step_});
        complaints_[at->second].to = step_;
    }
}

void WeekVoices::say(const std::string& voice, const std::string& text) { messages_.push_back({voice, text, step_}); }

void WeekVoices::hear(int step, bool health) {
    step_ = last_step_ = step;
    real_at_.resize(static_cast<std::size_t>(step) + 1, real_seconds() - begin_);
    std::istringstream printed(project_.take_printed());
    for (std::string line; std::getline(printed, line);)
        if (!line.empty()) say("cron", line);
    read_mails(), read_page(), scrape();
    if (health) ask_health();
}

void WeekVoices::ask_health() {
    const auto answer = project_.run_program({"status", "--health"});
    Now now;
    static const std::regex check("(degraded|broken) +(\\w+) +(.*)");
    std::istringstream lines(answer ? answer->out : "");
    std::string last;
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (std::regex_match(line, found, check))
            now[last = found[2]] = {fmt::format("{}: {}", found.str(1), found.str(3)), ""};
        else if (const auto arrow = line.find("-> "); arrow != line.npos && now.contains(last))
            now[last].second = line.substr(arrow + 3);
        else
            last.clear();
    }
    EXPECT_EQ(answer ? answer->status == 0 : false, now.empty()) << (answer ? answer->out + answer->err : "");
    note("health", now);
}

void WeekVoices::read_mails() {
    std::vector<std::string> fresh;
    for (const auto& entry : fs::directory_iterator(mails_))
        if (read_.insert(entry.path().filename().string()).second) fresh.push_back(entry.path().string());
    std::ranges::sort(fresh);
    for (const std::string& file : fresh) {
        const std::string mail = read_file(file).value_or("");
        const std::string bad = bad_lines(mail);
        say(header_of(mail, "To").find("owner") != std::string::npos ? "owner's mail" : "mail",
            header_of(mail, "Subject") + (bad.empty() ? "" : " (" + bad + ")"));
    }
}

/// The page for everybody, and the file for other programs.
void WeekVoices::read_page() {
    const fs::path file = project_.folder() / "html/user/status.html";
    const std::string page = read_file(file).value_or("");
    static const std::regex bad("<p class=\"sum bad\">&#10007; ([^\n]*)</p>");
    Now now;
    for (std::sregex_iterator at(page.begin(), page.end(), bad), end; at != end; ++at)
        now[at->str(1)] = {at->str(1), ""};
    EXPECT_EQ(now.empty(), page.find("The project is up.") != page.npos);
    note("page", now);
    now.clear();
    const std::string xml = read_file(project_.folder() / "html/user/server_status.xml").value_or("");
    static const std::regex idle("<command>([^<]*)</command>\\s*<status>not running</status>");
    for (std::sregex_iterator at(xml.begin(), xml.end(), idle), end; at != end; ++at)
        now[at->str(1)] = {at->str(1) + ": not running", ""};
    note("xml", now);
}

void WeekVoices::scrape() {
    static const std::set<std::string> wanted = metrics_of_alerts();
    const RunResult got = run({"curl", "-sS", "--max-time", "60", fmt::format("http://127.0.0.1:{}/metrics", port_)});
    std::istringstream lines(got.out);
    for (std::string line; std::getline(lines, line);) {
        const auto space = line.rfind(' ');
        if (line.starts_with('#') || space == line.npos) continue;
        const std::string name = line.substr(0, line.find_first_of("{ "));
        if (!wanted.contains(name.substr(0, name.rfind("_bucket"))) && !wanted.contains(name)) continue;
        const std::string labels = line.substr(name.size(), space - name.size());
        const std::string series = name + "{instance=\"p\"" + (labels.empty() ? "}" : "," + labels.substr(1));
        // The tests of promtool begin at the time 0.
        const double zero = name.ends_with("_timestamp_seconds") ? start_ : 0;
        scraped_[series][step_] = std::stod(line.substr(space + 1)) - zero;
    }
}

/// A case of promtool test rules: all that was scraped, and the claim that no alert is there at any step.
std::string WeekVoices::series() const {
    std::string text =
        fmt::format("rule_files: ['{}']\nevaluation_interval: {}s\ntests:\n  - interval: {}s\n    input_series:\n",
                    alert_rules(), kStep, kStep);
    for (const auto& [name, values] : scraped_) {
        std::string list;
        for (int i = 0; i <= last_step_; ++i) {
            const auto value = values.find(i);
            list += value == values.end() ? "stale " : fmt::format("{:.3f} ", value->second);
        }
        text += fmt::format("      - {{series: '{}', values: '{}'}}\n", name, list);
    }
    text += "    promql_expr_test:\n";
    for (int i = 0; i <= last_step_; ++i)
        text += fmt::format("      - {{expr: 'ALERTS{{alertstate=\"firing\"}}', eval_time: {}s, exp_samples: []}}\n",
                            i * kStep);
    return text;
}

/// promtool names each step at which there are alerts; those are what it is asked for.
void WeekVoices::evaluate_alerts() {
    const fs::path file = project_.outside("alerts_test.yml");
    write_file_atomically(file, series());
    const RunResult checked = run({"promtool", "test", "rules", file.string()});
    const std::string said = checked.out + checked.err;
    ASSERT_TRUE(checked.status == 0 || said.find("FAILED") != said.npos) << said.substr(0, 4000);
    if (const char* kept = std::getenv("SLUICE_SOAK_ALERTS")) std::ofstream(kept) << series() << "\n" << said;
    static const std::regex when("time: ([0-9dhms]+),"), alert("alertname=\"(\\w+)\"[^}]*"), number("([0-9]+)([dhms])");
    std::map<int, Now> by_step;
    std::istringstream lines(said);
    int step = -1;
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (std::regex_search(line, found, when)) {
            int seconds = 0;
            const std::string span = found[1];
            for (std::sregex_iterator at(span.begin(), span.end(), number), end; at != end; ++at)
                seconds += std::stoi(at->str(1)) * (at->str(2) == "d"   ? 86400
                                                    : at->str(2) == "h" ? 3600
                                                    : at->str(2) == "m" ? 60
                                                                        : 1);
            step = seconds / kStep;
        }
        for (std::sregex_iterator at(line.begin(), line.end(), alert), end; at != end && step >= 0; ++at)
            by_step[step][at->str(1)] = {at->str(0), ""};
    }
    EXPECT_EQ(checked.status == 0, by_step.empty()) << said.substr(0, 4000);
    for (step_ = 0; step_ <= last_step_; ++step_) note("alerts", by_step[step_]);
}

int WeekVoices::mails(int from, int to) const {
    return static_cast<int>(std::ranges::count_if(
        messages_, [&](const Message& m) { return m.voice == "mail" && m.step >= from && m.step <= to; }));
}

std::string WeekVoices::left() const {
    std::string text;
    for (const auto& [voice, open] : open_)
        for (const auto& [what, at] : open) text += voice + " " + what + ": " + complaints_[at].text + "\n";
    return text;
}

}  // namespace sluice::test
