// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// All that the scheduler knows of gangs (docs/gangs.md): gang_planner makes appointments with hosts for jobs that have
// to run at the same time. The scheduler tells a host when to come, and sends what waits for it.
#include <string>

#include "sched/handle/rpc.h"

namespace sluice {

struct HandOut;

/// Seconds until the host is to ask again; 0: it has no appointment.
double until_appointment(const Rpc& rpc);
bool appointment_is_due(const Rpc& rpc);
/// The job that gang_planner has given to this host, whether the client asks for work or not. True: it is sent.
/// Costs a statement: ask only if appointment_is_due().
bool send_appointed_job(const HandOut& out);

/// The workunit's document for an instance: that of a gang's member names it.
std::string document_for(const Workunit& workunit, const std::string& result_name);
/// An instance that is sent for the first time. It has to run at once, with the others of its gang, also when only a
/// part of it is left, or its processor was given to another job meanwhile. A client does so only where it would miss
/// the deadline else. It gets one that leaves time to begin (half of the run time, 10 to 30 minutes). The server waits
/// for eight times the run time and an hour: all members are as fast as the slowest one, and gang_hub and gang_planner
/// notice one that is lost.
void appoint(const Rpc& rpc, OutgoingJob& job);
/// An instance that the host has lost and gets again: the client's deadline is as short, the server's stays.
void begin_soon_if_appointed(const Rpc& rpc, const Workunit& workunit, OutgoingJob& job);

}  // namespace sluice
