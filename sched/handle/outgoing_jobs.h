// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sched/handle/rpc.h"

namespace sluice {

struct Result;
struct Workunit;

/// UNIX s, at most kNever.
std::int64_t after(double now, double seconds);
/// The same by the host's own clock.
std::int64_t by_hosts_clock(const Rpc& rpc, double seconds_from_now);
/// A job of the pool as the reply carries it; nullopt: its slot holds it no more.
std::optional<OutgoingJob> prepare_pool_job(const Rpc& rpc, const Chosen& chosen);
/// A job known by its rows. `report_deadline`: what the client is told.
OutgoingJob plan_known_job(const Rpc& rpc, const Chosen& chosen, const Workunit& workunit, const Result& result,
                           std::int64_t report_deadline);
/// can_send(), and a line in the log that names what no reply can carry.
Verdict can_be_written(const Rpc& rpc, const OutgoingJob& job);
/// Counts the refusal of a job that is not the matcher's.
void count_refusal(Decision& decision, const Verdict& verdict, const JobSummary& job);
/// What `chosen` asks of the workunit's row.
WorkunitTouch touch_of(const OutgoingJob& job, std::int64_t now);
SendWrite send_of(const OutgoingJob& job);

}  // namespace sluice
