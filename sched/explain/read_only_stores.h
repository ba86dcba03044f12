// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The stores of a request that is decided and not carried out: reads go to the stored rows, writes throw
// std::logic_error. Who looks at other rows than those overrides the reads.
#include "sluice/db/account_store.h"
#include "sluice/db/host_state_store.h"
#include "sluice/db/rpc_result_store.h"

namespace sluice {

class ReadOnlyAccounts : public AccountStore {
  public:
    explicit ReadOnlyAccounts(AccountStore& stored) : stored_(stored) {}
    std::optional<HostAndAccount> host_and_account(Id hostid, bool with_versions) override;
    std::optional<Account> account_by_key(std::string_view key) final { return stored_.account_by_key(key); }
    std::optional<Account> account_by_id(Id userid) final { return stored_.account_by_id(userid); }
    KnownMachines known_machines(const MachineQuery& query) final { return stored_.known_machines(query); }
    Id insert_host(const StoredHost&, const MachineQuery*) final;
    void update_host(const StoredHost&, const StoredHost&, Id, const UserChange&, const std::function<void()>&) final;
    void update_user(Id, const UserChange&) final;
    bool written_by(Id hostid, std::int64_t attempt) final { return stored_.written_by(hostid, attempt); }

  private:
    AccountStore& stored_;
};

class ReadOnlyHostStates : public HostStateStore {
  public:
    explicit ReadOnlyHostStates(HostStateStore& stored) : stored_(stored) {}
    HostState load(Id hostid, bool with_messages, bool with_turnaround) override;
    std::int64_t trickle_bytes(const AccountDay& account) override { return stored_.trickle_bytes(account); }
    void change_versions(Id, bool, std::span<const VersionChange>) final;
    void insert_messages(Id, std::int64_t, std::span<const MessageFromHost>) final;
    void add_trickle_bytes(const AccountDay&, std::int64_t) final;
    void mark_delivered(std::span<const Id>) final;

  private:
    HostStateStore& stored_;
};

class ReadOnlyResults : public RpcResultStore {
  public:
    explicit ReadOnlyResults(RpcResultStore& stored) : stored_(stored) {}
    std::vector<KnownResult> load(const ResultQuery& query) override { return stored_.load(query); }
    std::vector<LostJob> lost_jobs(std::span<const Id> results) final { return stored_.lost_jobs(results); }
    std::vector<WorkunitFacts> facts(const FactsQuery& query) override { return stored_.facts(query); }
    std::vector<UnsentJob> jobs_of_groups(const GroupQuery& query) override { return stored_.jobs_of_groups(query); }
    void touch_workunits(std::span<const WorkunitTouch>) final;
    void store_reports(const ReportBatch&, const OnRefused&) final;
    void send(const SendBatch&, const OnRefused&) final;
    void detach(Id, std::int64_t, std::span<const Id>) final;

  private:
    RpcResultStore& stored_;
};

}  // namespace sluice
