// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sched/handle/rpc.h"

namespace sluice {

struct Result;
struct Workunit;

/// A job of the pool as the reply carries it; nullopt: its slot holds it no more.
std::optional<OutgoingJob> prepare_pool_job(const Rpc& rpc, const Chosen& chosen);
/// A job known by its rows. `report_deadline`: what the client is told.
OutgoingJob plan_known_job(const Rpc& rpc, const Chosen& chosen, const Workunit& workunit, const Result& result,
                           std::int64_t report_deadline);
/// can_send(), and a line in the log that names what no reply can carry.
Verdict can_be_written(const Rpc& rpc, const OutgoingJob& job);
/// Counts the refusal of a job that is not the matcher's.
void count_refusal(Decision& decision, const Verdict& verdict, const JobSummary& job);
/// A member of a gang is to run at once, with the others, also when only a part of it is left or its processor was
/// given to another job meanwhile. A client does so only where it would miss the deadline else: it is told one that
/// leaves time to begin (half of the run time, 10 to 30 minutes), and is not held to it.
void hurry_gang_job(const Rpc& rpc, OutgoingJob& job);
/// When the server gives up a member that is sent for the first time: after eight times the run time and an hour.
void wait_for_gang_job(const Rpc& rpc, OutgoingJob& job);
/// What `chosen` asks of the workunit's row.
WorkunitTouch touch_of(const OutgoingJob& job, std::int64_t now);
SendWrite send_of(const OutgoingJob& job);

}  // namespace sluice
