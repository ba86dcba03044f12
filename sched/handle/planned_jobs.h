#pragma once
#include "sched/handle/rpc.h"

namespace sluice {

/// A job of the pool as the reply carries it; nullopt: its documents can't be sent (logged).
std::optional<PlannedJob> plan_pool_job(const Rpc& rpc, const Chosen& chosen);
/// A job known by its rows. `report_deadline`: what the client is told.
std::optional<PlannedJob> plan_known_job(const Rpc& rpc, const Chosen& chosen, const Workunit& workunit,
                                         const Result& result, std::int64_t report_deadline);
/// A member of a gang is to run at once, with the others: the deadline that the client is told says so, and the server
/// gives the instance up when twice the run time and an hour have passed. `buffer`: the client's minimum buffer, s.
void hurry_gang_job(const Rpc& rpc, double buffer, PlannedJob& job);
/// What `chosen` asks of the workunit's row.
WorkunitTouch touch_of(const PlannedJob& job, std::int64_t now);
SendWrite send_of(const PlannedJob& job);

}  // namespace sluice
