#pragma once
// The stores of a scheduler RPC over a FakeDb. A unit of work takes a copy of all rows and puts it back on an
// exception.
#include <algorithm>
#include <memory>
#include <set>
#include <unordered_set>

#include "sluice/db/rpc_stores.h"
#include "tests/support/fake_db.h"

namespace sluice::test {

class FakeUnitOfWork final : public UnitOfWork {
  public:
    explicit FakeUnitOfWork(FakeDb& db) : db_(db) {}
    int commits = 0;
    void run(const std::function<void()>& work, const std::function<bool()>& took_place) override {
        for (int attempt = 1;; ++attempt) {
            FakeDb saved = db_;
            try {
                db_.enter("unit_of_work.begin");
                work();
                db_.enter("unit_of_work.commit");
                ++commits;
                if (committed(took_place)) return;
                throw DbError(DbError::Kind::kLost, 2013, "lost");
            } catch (const DbError& e) {
                put_back(std::move(saved));
                if (e.kind() != DbError::Kind::kRetry || attempt >= 5) throw;
            } catch (...) {
                put_back(std::move(saved));
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
    /// The rows, not what tests hooked in.
    void put_back(FakeDb saved) {
        saved.before = db_.before;
        saved.verbs = db_.verbs;
        db_ = std::move(saved);
    }
    FakeDb& db_;
};

class FakeAccountStore final : public AccountStore {
  public:
    explicit FakeAccountStore(FakeDb& db) : db_(db) {}
    std::optional<HostAndAccount> host_and_account(Id hostid, bool with_versions) override;
    std::optional<Account> account_by_key(std::string_view authenticator) override;
    std::optional<Account> account_by_id(Id userid) override;
    KnownMachines known_machines(const MachineQuery& query) override;
    Id insert_host(const StoredHost& host, const MachineQuery* same) override;
    bool update_host(const StoredHost& before, const StoredHost& after, Id userid, const UserChange& change) override;
    void update_user(Id userid, const UserChange& change) override;
    bool written_by(Id hostid, std::int64_t attempt) override;

  private:
    StoredHost stored(const Host& host) const {
        const auto attempt = db_.host_attempts.find(host.id);
        const auto bytes = db_.host_trickle_bytes.find(host.id);
        const auto start = db_.host_gang_starts.find(host.id);
        return {host, attempt == db_.host_attempts.end() ? std::nullopt : std::optional(attempt->second),
                bytes == db_.host_trickle_bytes.end() ? 0 : bytes->second,
                start == db_.host_gang_starts.end() ? 0 : start->second};
    }
    bool too_many_new(const MachineQuery& q) const {
        int newer = 0;
        for (auto it = db_.hosts.rbegin(); it != db_.hosts.rend() && newer < q.most_new; ++it)
            if (it->second.userid == q.userid && ++newer == q.most_new) return it->second.create_time >= q.new_since;
        return false;
    }
    Account account_of(const User& user) const;
    void change_user(Id userid, const UserChange& change);
    FakeDb& db_;
};

class FakeHostStateStore final : public HostStateStore {
  public:
    explicit FakeHostStateStore(FakeDb& db) : db_(db) {}
    HostState load(Id hostid, bool with_messages, bool with_turnaround) override;
    void change_versions(Id hostid, bool new_day, std::span<const VersionChange> changes) override;
    void insert_messages(Id hostid, std::int64_t now, std::span<const MessageFromHost> messages) override;
    std::int64_t trickle_bytes(const AccountDay& account) override {
        db_.enter("host_states.trickle_bytes");
        const auto row = db_.account_trickles.find(account.userid);
        return row == db_.account_trickles.end() || row->second.first != account.day ? 0 : row->second.second;
    }
    void add_trickle_bytes(const AccountDay& account, std::int64_t bytes) override {
        db_.enter("host_states.add_trickle_bytes");
        auto& [day, sum] = db_.account_trickles[account.userid];
        sum = day == account.day ? sum + bytes : bytes;
        day = account.day;
    }
    void mark_delivered(std::span<const Id> messages) override;

  private:
    FakeDb& db_;
};

class FakeRpcResultStore final : public RpcResultStore {
  public:
    explicit FakeRpcResultStore(FakeDb& db) : db_(db) {}
    std::vector<KnownResult> load(const ResultQuery& query) override;
    std::vector<LostJob> lost_jobs(std::span<const Id> results) override;
    std::vector<WorkunitFacts> facts(const FactsQuery& query) override;
    std::vector<UnsentJob> jobs_of_groups(const GroupQuery& query) override;
    void touch_workunits(std::span<const WorkunitTouch> touches) override;
    std::vector<Id> store_reports(const ReportBatch& batch) override;
    std::vector<Id> send(const SendBatch& batch) override;
    void detach(Id hostid, std::int64_t now, std::span<const Id> results) override;

  private:
    KnownResult known(const Result& r) const;
    bool may_send(const SendBatch& batch, const SendWrite& s) const;
    FakeDb& db_;
};

class FakeAssignmentStore final : public AssignmentStore {
  public:
    explicit FakeAssignmentStore(FakeDb& db) : db_(db) {}
    std::vector<AssignedJob> load(const AssignmentQuery& query) override {
        return query.gang ? gang_job(query.hostid) : load_rows(query);
    }
    std::vector<InstanceCounts> instances_now(std::span<const Id> workunits, Id hostid) override;
    void insert_results(std::span<const Result> results) override;
    void remove(std::span<const Id> assignments) override;

  private:
    InstanceCounts counts(Id workunit, Id hostid) const;
    std::vector<AssignedJob> load_rows(const AssignmentQuery& query);
    std::vector<AssignedJob> gang_job(Id hostid) {
        db_.enter("assignments.load");
        const auto lease = db_.gang_leases.find(hostid);
        const auto w = lease == db_.gang_leases.end() ? db_.workunits.end() : db_.workunits.find(lease->second);
        if (w == db_.workunits.end()) return {};
        return {{{0, hostid, AssignTarget::kHost, false, w->first, 0}, true, w->second, counts(w->first, hostid)}};
    }
    FakeDb& db_;
};

struct FakeRpcStores {
    explicit FakeRpcStores(FakeDb& db)
        : accounts(db), host_states(db), results(db), assignments(db), unit_of_work(db) {}
    FakeAccountStore accounts;
    FakeHostStateStore host_states;
    FakeRpcResultStore results;
    FakeAssignmentStore assignments;
    FakeUnitOfWork unit_of_work;
    RpcStores stores() { return {accounts, host_states, results, assignments, unit_of_work}; }
};

}  // namespace sluice::test
