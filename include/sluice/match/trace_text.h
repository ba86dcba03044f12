// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The decision trace as text: upstream's log lines under debug_send_job / debug_send_scan, and JSON.
#include <string>

#include "sluice/match/matcher.h"

namespace sluice {

/// One line without tag and newline, as debug_send_job writes it.
std::string trace_log_line(const TraceRow& row);
/// One line a scan: what it saw (debug_send_scan).
std::string trace_scan_line(const MatchStats& stats);
/// One JSON object on one line: slot, result, app, resource, reason, value, required, score, terms, fate.
std::string trace_json(const TraceRow& row);

/// Keeps rows with their pointers' targets copied.
class TraceLines : public Trace {
  public:
    enum class Style { kLog, kJson };
    TraceLines(Style style, std::size_t max_rows) : style_(style), max_rows_(max_rows) {}
    void row(const TraceRow& row) override;
    const std::vector<std::string>& lines() const { return lines_; }
    std::size_t dropped() const { return dropped_; }

  private:
    Style style_;
    std::size_t max_rows_, dropped_ = 0;
    std::vector<std::string> lines_;
};

}  // namespace sluice
