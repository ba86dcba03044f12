// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the month measures: folders, rows, logs, memory and descriptors, day by day; and the lines of all logs that tell
// of errors.
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/db/soak/month_project.h"

namespace sluice::test {

/// A day's greatest values, by name: "disk upload", "rows result", "KB feeder", "open files feeder" …
using DaySample = std::map<std::string, double>;

class MonthSamples {
  public:
    explicit MonthSamples(MonthProject& project) : project_(project) {}

    void look_at_processes();
    void end_day();
    const std::vector<DaySample>& days() const { return days_; }
    /// A line a day, a column a name.
    std::string table() const;
    /// Rows, disk, memory and open files over the days, as an SVG file.
    std::string charts() const;
    /// Names of what was still growing: the most of the last third of `days` is more than that of the second third by a
    /// quarter and `slack`.
    std::vector<std::string> growing(std::size_t days) const;

  private:
    void keep(const std::string& name, double value);
    void look_at_folders();
    void look_at_rows();

    MonthProject& project_;
    DaySample today_;
    std::vector<DaySample> days_;
};

/// Follows all logs, also while they are rotated.
class LogWatch {
  public:
    explicit LogWatch(fs::path folder) : folder_(std::move(folder)) {}
    ~LogWatch();
    LogWatch(const LogWatch&) = delete;
    LogWatch& operator=(const LogWatch&) = delete;

    /// Reads what is new; for each second or so.
    void look();
    /// Lines from elsewhere.
    void read(const std::string& name, const std::string& text);
    /// How often a line came, with its numbers as #.
    const std::map<std::string, int>& unexpected() const { return unexpected_; }
    const std::map<std::string, int>& expected() const { return expected_; }

  private:
    struct OpenLog {
        int fd = -1;
        std::string name, rest;
        double moved_away = 0;
    };
    bool read_on(OpenLog& log);
    void line(const std::string& name, const std::string& text);

    fs::path folder_;
    std::map<ino_t, OpenLog> logs_;
    std::map<std::string, int> unexpected_, expected_;
};

}  // namespace sluice::test
