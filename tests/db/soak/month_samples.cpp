// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/db/soak/month_samples.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/svg/charts.h"
#include "tests/db/soak/archived_rows.h"

namespace sluice::test {
namespace {

/// What grows with the project's life by its nature, and why.
const std::map<std::string, const char*>& not_compared() {
    static const std::map<std::string, const char*> reasons{
        {"disk archives", "what db_purge keeps: a record for each row that there was"},
        {"rows batch", "a row for each batch, until its owner retires it"},
        {"rows msg_from_host", "update_stats removes handled ones after 30 days, which are the whole run"},
        {"rows msg_to_host", "the same"},
        {"rows sluice_plan_job",
         "a row for each job in progress of a planned batch; each turn of batch_planner removes the others"},
    };
    return reasons;
}

struct ExpectedLine {
    std::regex line;
    const char* why;
};
const std::vector<ExpectedLine>& expected_lines() {
    static const std::vector<ExpectedLine> lines{
        {std::regex("no host has recent credit above #"), "trickle_credit can't start before; cron tries again"},
        {std::regex("size_census_sized: there is no such file"), "the feeder, before size_census wrote its first"},
        {std::regex("no measured host; no census file is written"), "until hosts have done some jobs of that app"},
        {std::regex("does a size_regulator run for the app"),
         "the clock moves by hours while size_regulator sleeps for a second"},
        {std::regex("of the jobs in the array find no host"),
         "few hosts ask, each once in four hours, and none gets two jobs of a workunit"},
        {std::regex("a program still writes to it"),
         "programs notice within a second, in which the clock moves by an hour"},
        {std::regex("the connection to the database server at .* broke \\(|can't reach the database server at"),
         "the server was killed; each daemon goes on when it is there again"},
        {std::regex("^scheduler.log: .*worker # ended with status"), "it was killed; another one takes its place"},
        {std::regex("^feeder.log: .*slots were held by schedulers that died; their jobs are present again"),
         "schedulers were killed; nothing is lost"},
        {std::regex("^trickle_deadline.log: .*the host has no result"), "the same of a message"},
        {std::regex("reported result not in DB"), "it was reported a day too late, and db_purge was quicker"},
        {std::regex("the files before these are in \\.\\./html/stats_tmp"),
         "db_dump is run until it can be killed, so twice in a second, after which its old folders are named"},
        {std::regex("can't reach the resident scheduler"),
         "it was killed, and cron comes later; requests are served all the same"},
    };
    return lines;
}

}  // namespace

void MonthSamples::keep(const std::string& name, double value) {
    double& most = today_[name];
    most = std::max(most, value);
}

void MonthSamples::look_at_processes() {
    for (const auto& [name, pid] : project_.running()) {
        if (MonthProject::is_task(name)) continue;  // it ends soon, and is only seen by chance
        const fs::path process = "/proc/" + std::to_string(pid);
        std::istringstream status;
        try {
            status.str(read_file(process / "status").value_or(""));
        } catch (const std::exception&) {
            continue;
        }
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("VmRSS:")) keep("KB " + name, std::atof(line.c_str() + 6));
        std::error_code gone;
        int descriptors = 0;
        for (fs::directory_iterator at(process / "fd", gone), end; !gone && at != end; at.increment(gone))
            ++descriptors;
        keep("open files " + name, descriptors);
    }
}

void MonthSamples::look_at_folders() {
    const auto folder = [&](const char* name, const fs::path& path) {
        const FolderSize size = size_of(path);
        keep(std::string("disk ") + name, static_cast<double>(size.bytes));
        keep(std::string("files ") + name, static_cast<double>(size.files));
    };
    folder("upload", project_.folder() / "upload"), folder("download", project_.folder() / "download");
    folder("logs", project_.log_folder()), folder("archives", project_.folder() / "archives");
    folder("html", project_.folder() / "html"), folder("tmp", project_.folder() / ("tmp_" + short_host_name()));
    today_.erase("files archives");
}

void MonthSamples::look_at_rows() {
    const auto tables =
        rows_of(project_.db(),
                Sql("SELECT table_name FROM information_schema.tables WHERE table_schema=DATABASE() AND "
                    "table_type='BASE TABLE'"),
                1);
    for (const auto& table : tables) {
        Sql sql("SELECT COUNT(*) FROM ");
        const std::int64_t n = project_.count(sql.identifier(table[0]));
        if (n > 0) keep("rows " + table[0], static_cast<double>(n));
    }
}

void MonthSamples::end_day() {
    look_at_folders(), look_at_rows();
    days_.push_back(std::exchange(today_, {}));
}

std::string MonthSamples::table() const {
    std::set<std::string> names;
    for (const DaySample& day : days_)
        for (const auto& [name, value] : day) names.insert(name);
    std::string text = "day";
    for (const std::string& name : names) text += "\t" + name;
    for (std::size_t i = 0; i < days_.size(); ++i) {
        text += fmt::format("\n{}", i + 1);
        for (const std::string& name : names) {
            const auto value = days_[i].find(name);
            text += fmt::format("\t{:.0f}", value == days_[i].end() ? 0 : value->second);
        }
    }
    return text + "\n";
}

std::string MonthSamples::charts() const {
    struct Chart {
        const char *title, *unit, *prefix;
        double scale;
        std::vector<const char*> names;
    };
    const std::vector<Chart> charts{
        {"Rows", "thousands", "rows ", 1e3, {"workunit", "result", "msg_from_host"}},
        {"Disk", "MB", "disk ", 1e6, {"archives", "logs", "upload", "download"}},
        {"Memory", "MB", "KB ", 1024, {"feeder", "batches", "scheduler", "db_purge"}},
        {"Open files", "files", "open files ", 1, {"db_purge", "feeder", "scheduler", "batches"}}};
    std::string out =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1200 680\" font-family=\"sans-serif\" font-size=\"13\">\n"
        "<style>.title{font-weight:bold}.grid{stroke:#ddd}</style>\n<rect width=\"1200\" height=\"680\" fill=\"#fff\"/>\n";
    for (std::size_t i = 0; i < charts.size(); ++i) {
        std::vector<svg::Series> series;
        for (const char* name : charts[i].names) {
            svg::Series one{name, {}, false, series.size()};
            for (std::size_t day = 0; day < days_.size(); ++day) {
                const auto value = days_[day].find(std::string(charts[i].prefix) + name);
                if (value != days_[day].end())
                    one.points.emplace_back(static_cast<double>(day + 1), value->second / charts[i].scale);
            }
            series.push_back(std::move(one));
        }
        out += fmt::format("<svg x=\"{}\" y=\"{}\" width=\"600\" height=\"340\">\n{}</svg>\n", i % 2 * 600, i / 2 * 340,
                           svg::line_chart({charts[i].title, "day", charts[i].unit}, series));
    }
    return out + "</svg>\n";
}

std::vector<std::string> MonthSamples::growing(std::size_t days) const {
    std::map<std::string, std::pair<double, double>> most;
    for (std::size_t i = days / 3; i < std::min(days, days_.size()); ++i)
        for (const auto& [name, value] : days_[i]) {
            double& third = i < days * 2 / 3 ? most[name].first : most[name].second;
            third = std::max(third, value);
        }
    std::vector<std::string> found;
    for (const auto& [name, thirds] : most) {
        const double slack = name.starts_with("disk ")         ? 200e3
                             : name.starts_with("KB ")         ? 4096
                             : name.starts_with("open files ") ? 3
                                                               : 50;
        if (thirds.second > thirds.first * 1.25 + slack && !not_compared().contains(name))
            found.push_back(fmt::format("{}: {:.0f}, then {:.0f}", name, thirds.first, thirds.second));
    }
    return found;
}

LogWatch::~LogWatch() {
    for (auto& [inode, log] : logs_) ::close(log.fd);
}

bool LogWatch::read_on(OpenLog& log) {
    char buffer[1 << 16];
    bool any = false;
    for (ssize_t n; (n = ::read(log.fd, buffer, sizeof buffer)) > 0; any = true) {
        log.rest.append(buffer, static_cast<std::size_t>(n));
        std::size_t begin = 0;
        for (std::size_t end; (end = log.rest.find('\n', begin)) != std::string::npos; begin = end + 1)
            line(log.name, log.rest.substr(begin, end - begin));
        log.rest.erase(0, begin);
    }
    return any;
}

void LogWatch::look() {
    std::set<ino_t> present;
    std::error_code gone;
    for (fs::directory_iterator at(folder_, gone), end; !gone && at != end; at.increment(gone)) {
        const std::string name = at->path().filename().string();
        if (!name.ends_with(".log") && !name.ends_with(".out")) continue;
        struct stat info {};
        if (::stat(at->path().c_str(), &info) != 0) continue;
        present.insert(info.st_ino);
        if (logs_.contains(info.st_ino)) continue;
        const int fd = ::open(at->path().c_str(), O_RDONLY | O_CLOEXEC);
        if (fd >= 0) logs_[info.st_ino] = {fd, name, "", 0};
    }
    const double now = real_seconds();
    for (auto at = logs_.begin(); at != logs_.end();) {
        OpenLog& log = at->second;
        read_on(log);
        // Who writes to one that was moved away notices within a second.
        if (!present.contains(at->first) && log.moved_away == 0) log.moved_away = now;
        const bool over = log.moved_away > 0 && now - log.moved_away > 10;
        if (over) ::close(log.fd);
        at = over ? logs_.erase(at) : std::next(at);
    }
}

void LogWatch::read(const std::string& name, const std::string& text) {
    std::istringstream lines(text);
    for (std::string l; std::getline(lines, l);) line(name, l);
}

void LogWatch::line(const std::string& name, const std::string& text) {
    static const std::regex number("[0-9a-f]*[0-9]+(\\.[0-9]+)?");
    const auto tells_of_trouble = [&](const char* word) { return text.find(word) != text.npos; };
    static const char* const kTrouble[] = {"[CRITICAL]", "[warning]", "terminate called", "Couldn't", "Error"};
    if (std::ranges::none_of(kTrouble, tells_of_trouble)) return;
    const auto stamp = text.find(" UTC ");
    const std::string plain =
        name + ": " + std::regex_replace(text.substr(stamp == text.npos ? 0 : stamp + 5), number, "#");
    const bool known =
        std::ranges::any_of(expected_lines(), [&](const ExpectedLine& e) { return std::regex_search(plain, e.line); });
    ++(known ? expected_ : unexpected_)[plain];
}

}  // namespace sluice::test
