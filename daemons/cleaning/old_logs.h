// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// rotate_logs: which files in a folder of logs are old ones, of which log, and which of them may go. Pure.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// What is kept of each log.
struct LogBounds {
    std::int64_t max_bytes = std::int64_t{100} << 20;  ///< a log that is longer is rotated
    double every = 7 * 86400;                          ///< s: so is one that was begun before that
    int keep = 8;                                      ///< old logs of each; together at most keep * max_bytes
    double keep_for = 60 * 86400;                      ///< s after it was rotated an old log goes
};

/// Whether a log that has lines is to be rotated. `begun`: UNIX s.
bool rotation_due(const LogBounds& bounds, std::int64_t bytes, double begun, double now);

/// "feeder.log" at 1800000000 -> "feeder.log.20270115T080000Z".
std::string old_log_name(const std::string& log, std::int64_t time);

struct OldLog {
    std::string log = {};   ///< "feeder.log"; "decisions" for days of the decision log
    std::int64_t time = 0;  ///< UNIX s: when it was rotated; of decisions when their day is over anywhere
    std::string name = {};  ///< of the file, without .gz
    bool plain = false;     ///< it is there without .gz
    bool packed = false;    ///< it is there with it; both after a kill
    std::int64_t bytes = 0;
};
/// By the name of a file; nullopt: it is no old log of rotate_logs. `plain` or `packed` is set.
std::optional<OldLog> old_log(const std::string& file);
/// The log that is still to get its name: of ".feeder.log.new" "feeder.log"; "" for other files.
std::string half_rotated(const std::string& file);

/// Whether <debug_req_reply_dir> has a file of that name for a request: "17_3_sched_request.xml", "17_3_sched.log".
bool is_of_a_request(const std::string& file);

/// Of the old logs of one log, those beyond the bounds. The newest is never among them for its size, and for two
/// hours, in which it is compressed, a plain one does not count.
std::vector<OldLog> surplus(std::vector<OldLog> olds, const LogBounds& bounds, double now);

}  // namespace sluice
