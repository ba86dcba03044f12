// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// <decision_log>: one JSON record of every RPC's decision, in PROJECT/log_HOST/decisions/decisions_YYYY-MM-DD.jsonl.
// The format is described in docs/why_no_work.md.
#include <string>

#include "sched/handle/rpc.h"

namespace sluice {

/// The record, without its newline.
std::string decision_record(const Rpc& rpc);

/// Appends the record if the configuration asks for it. Whatever goes wrong is logged and else without consequence.
void log_decision(const Rpc& rpc) noexcept;

}  // namespace sluice
