// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// When has a move failed? A daemon may end because of what was wrong before, and a log may call critical what is over a
// second later. So only signs that last or come again count.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// What one look at a project shows that has just been started; there is one a second.
struct Look {
    double at = 0;                                ///< s since the start
    std::vector<std::string> gone;                ///< daemons that ran before, or are ours, and do not run
    std::map<std::string, std::string> critical;  ///< by log: a line that came since the look before
    std::optional<bool> served;                   ///< whether the scheduler answered; nullopt: it was not asked
    std::string silence{};                        ///< why it did not, in a few words
};

/// Signs of a failure:
/// - a daemon is away in three looks in a row;
/// - a log has critical lines in three looks, the first and the last a fifth of the watch apart, at most 12 s;
/// - the scheduler has served, and then answers three times in a row that it does not.
class WatchRule {
  public:
    explicit WatchRule(double length) : length_(length) {}
    /// What is wrong, in one line; empty: nothing so far.
    std::string judge(const Look& look);
    /// It has served at least once.
    bool served() const { return served_; }

  private:
    struct Signs {
        int looks = 0;
        double first = 0;
    };
    double length_;
    std::map<std::string, int> gone_in_a_row_;
    std::map<std::string, Signs> critical_;
    int silent_in_a_row_ = 0;
    bool served_ = false;
};

/// Whether a program marked the line as critical. What a client sent may hold the mark, too, behind the stamp. Lines
/// about one host do not count: a client of an unknown platform causes them, before the move as after it.
bool is_critical(std::string_view line);

/// A log from where it ends now.
class LogTail {
  public:
    explicit LogTail(std::filesystem::path file);
    /// Reads on. The first line among what is new that a program marked as critical; empty: there is none.
    std::string critical_line();
    const std::filesystem::path& file() const { return file_; }

  private:
    std::filesystem::path file_;
    std::uintmax_t read_ = 0;
};

}  // namespace sluice
