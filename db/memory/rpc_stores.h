// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The stores of a scheduler RPC over a MemoryDb. A unit of work undoes what it wrote on an exception.
#include <algorithm>
#include <memory>

#include "db/memory/memory_db.h"
#include "sluice/db/rpc_stores.h"
#include "sluice/model/job.h"

namespace sluice {

struct Host;
struct User;

class MemoryUnitOfWork final : public UnitOfWork {
  public:
    explicit MemoryUnitOfWork(MemoryDb& db) : db_(db) {}
    int commits = 0;
    void run(const std::function<void()>& work, const std::function<bool()>& took_place) override {
        for (int attempt = 1;; ++attempt) {
            try {
                db_.begin_transaction();
                db_.enter("unit_of_work.begin");
                work();
                db_.enter("unit_of_work.commit");
                ++commits;
                if (committed(took_place)) return db_.end_transaction(true);
                throw DbError(DbError::Kind::kLost, 2013, "lost");
            } catch (const DbError& e) {
                db_.end_transaction(false);
                if (e.kind() != DbError::Kind::kRetry || attempt >= 5) throw;
            } catch (...) {
                db_.end_transaction(false);
                throw;
            }
        }
    }

  private:
    /// Hooked to "unit_of_work.answer": the COMMIT took place, what came back was an error.
    bool committed(const std::function<bool()>& took_place) {
        try {
            db_.enter("unit_of_work.answer");
            return true;
        } catch (const DbError& e) {
            return e.kind() == DbError::Kind::kLost && took_place();
        }
    }
    MemoryDb& db_;
};

class MemoryAccountStore final : public AccountStore {
  public:
    explicit MemoryAccountStore(MemoryDb& db) : db_(db) {}
    std::optional<HostAndAccount> host_and_account(Id hostid, bool with_versions) override;
    std::optional<Account> account_by_key(std::string_view authenticator) override;
    std::optional<Account> account_by_id(Id userid) override;
    KnownMachines known_machines(const MachineQuery& query) override;
    Id insert_host(const StoredHost& host, const MachineQuery* same) override;
    void update_host(const StoredHost& before, const StoredHost& after, Id userid, const UserChange& change,
                     const std::function<void()>& outdated) override;
    void update_user(Id userid, const UserChange& change) override;
    bool written_by(Id hostid, std::int64_t attempt) override;

  private:
    StoredHost stored(const Host& host) const;
    Account account_of(const User& user) const;
    /// The newest host that `q` describes; null: none.
    const Host* find_same(const MachineQuery& q) const;
    bool too_many_new(const MachineQuery& q) const;
    void change_user(Id userid, const UserChange& change);
    MemoryDb& db_;
};

class MemoryHostStateStore final : public HostStateStore {
  public:
    explicit MemoryHostStateStore(MemoryDb& db) : db_(db) {}
    HostState load(Id hostid, bool with_messages, bool with_turnaround) override;
    void change_versions(Id hostid, bool new_day, std::span<const VersionChange> changes) override;
    void insert_messages(Id hostid, std::int64_t now, std::span<const MessageFromHost> messages) override;
    std::int64_t trickle_bytes(const AccountDay& account) override;
    void add_trickle_bytes(const AccountDay& account, std::int64_t bytes) override;
    void mark_delivered(std::span<const Id> messages) override;

  private:
    MemoryDb& db_;
};

class MemoryRpcResultStore final : public RpcResultStore {
  public:
    explicit MemoryRpcResultStore(MemoryDb& db) : db_(db) {}
    std::vector<KnownResult> load(const ResultQuery& query) override;
    std::vector<LostJob> lost_jobs(std::span<const Id> results) override;
    std::vector<WorkunitFacts> facts(const FactsQuery& query) override;
    std::vector<UnsentJob> jobs_of_groups(const GroupQuery& query) override;
    void touch_workunits(std::span<const WorkunitTouch> touches) override;
    void store_reports(const ReportBatch& batch, const OnRefused& refused) override;
    void send(const SendBatch& batch, const OnRefused& refused) override;
    void detach(Id hostid, std::int64_t now, std::span<const Id> results) override;

  private:
    KnownResult known(const Result& r) const;
    bool may_send(const SendBatch& batch, const SendWrite& s) const;
    MemoryDb& db_;
};

class MemoryAssignmentStore final : public AssignmentStore {
  public:
    explicit MemoryAssignmentStore(MemoryDb& db) : db_(db) {}
    std::vector<AssignedJob> load(const AssignmentQuery& query) override;
    std::vector<InstanceCounts> instances_now(std::span<const Id> workunits, Id hostid) override;
    void insert_results(std::span<const Result> results) override;
    void remove(std::span<const Id> assignments) override;

  private:
    InstanceCounts counts(Id workunit, Id hostid) const;
    MemoryDb& db_;
};

struct MemoryRpcStores {
    explicit MemoryRpcStores(MemoryDb& db)
        : accounts(db), host_states(db), results(db), assignments(db), unit_of_work(db) {}
    MemoryAccountStore accounts;
    MemoryHostStateStore host_states;
    MemoryRpcResultStore results;
    MemoryAssignmentStore assignments;
    MemoryUnitOfWork unit_of_work;
    RpcStores stores() { return {accounts, host_states, results, assignments, unit_of_work}; }
};

}  // namespace sluice
