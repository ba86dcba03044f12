// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/explain/read_only_stores.h"

#include <stdexcept>

namespace sluice {
namespace {

[[noreturn]] void writes_nothing() { throw std::logic_error("a dry run writes nothing"); }

}  // namespace

std::optional<HostAndAccount> ReadOnlyAccounts::host_and_account(Id hostid, bool with_versions) {
    return stored_.host_and_account(hostid, with_versions);
}
Id ReadOnlyAccounts::insert_host(const StoredHost&, const MachineQuery*) { writes_nothing(); }
void ReadOnlyAccounts::update_host(const StoredHost&, const StoredHost&, Id, const UserChange&,
                                   const std::function<void()>&) {
    writes_nothing();
}
void ReadOnlyAccounts::update_user(Id, const UserChange&) { writes_nothing(); }

HostState ReadOnlyHostStates::load(Id hostid, bool with_messages, bool with_turnaround) {
    return stored_.load(hostid, with_messages, with_turnaround);
}
void ReadOnlyHostStates::change_versions(Id, bool, std::span<const VersionChange>) { writes_nothing(); }
void ReadOnlyHostStates::insert_messages(Id, std::int64_t, std::span<const MessageFromHost>) { writes_nothing(); }
void ReadOnlyHostStates::add_trickle_bytes(const AccountDay&, std::int64_t) { writes_nothing(); }
void ReadOnlyHostStates::mark_delivered(std::span<const Id>) { writes_nothing(); }

void ReadOnlyResults::touch_workunits(std::span<const WorkunitTouch>) { writes_nothing(); }
void ReadOnlyResults::store_reports(const ReportBatch&, const OnRefused&) { writes_nothing(); }
void ReadOnlyResults::send(const SendBatch&, const OnRefused&) { writes_nothing(); }
void ReadOnlyResults::detach(Id, std::int64_t, std::span<const Id>) { writes_nothing(); }

}  // namespace sluice
