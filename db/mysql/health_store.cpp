// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/health_store.h"

#include <string>

#include "sluice/base/error.h"
#include "sluice/model/codes.h"

namespace sluice {
namespace {

class MysqlHealthStore final : public HealthStore {
  public:
    explicit MysqlHealthStore(Database& db) : db_(db) {}

    double server_time() override { return one(db_.query(Sql("SELECT UNIX_TIMESTAMP(NOW(3))"))).f64(0); }
    bool read_only() override { return one(db_.query(Sql("SELECT @@global.read_only"))).flag(0); }
    WaitingRows due_transitions(std::int64_t now) override {
        Sql sql(
            "SELECT COUNT(*), MIN(transition_time) FROM (SELECT transition_time FROM workunit WHERE transition_time < ");
        sql << now << " ORDER BY transition_time LIMIT " << kMostCounted << ") AS due";
        return backlog(sql);
    }
    WaitingRows to_delete() override {
        Sql sql(kCount);
        sql << "file_delete_state = " << FileDeleteState::kReady << " LIMIT " << kMostCounted << ") AS waiting";
        return backlog(sql);
    }
    WaitingRows to_validate(Id app) override {
        Sql sql(kCount);
        sql << "appid = " << app << " AND need_validate = 1 LIMIT " << kMostCounted << ") AS waiting";
        return backlog(sql);
    }
    WaitingRows to_assimilate(Id app) override {
        Sql sql(kCount);
        sql << "appid = " << app << " AND assimilate_state = " << AssimilateState::kReady << " LIMIT " << kMostCounted
            << ") AS waiting";
        return backlog(sql);
    }
    std::vector<UnsentJobs> unsent(Id app) override {
        Sql sql(
            "SELECT size_class, COUNT(*), UNIX_TIMESTAMP(MIN(mod_time)) FROM (SELECT size_class, mod_time FROM result "
            "WHERE appid = ");
        sql << app << " AND server_state = " << ServerState::kUnsent << " LIMIT " << kMostCounted
            << ") AS unsent GROUP BY size_class ORDER BY size_class";
        std::vector<UnsentJobs> all;
        for (Rows rows = db_.query(sql); rows.next();) all.push_back({rows.i32(0), {rows.i64(1), rows.f64(2)}});
        return all;
    }
    LastOutcomes last_outcomes(Id app, std::int64_t now) override;
    std::optional<std::vector<LockWait>> lock_waits() override;

  private:
    static constexpr const char kCount[] =
        "SELECT COUNT(*), UNIX_TIMESTAMP(MIN(mod_time)) FROM (SELECT mod_time FROM workunit WHERE ";

    static Rows one(Rows rows) {
        rows.next();
        return rows;
    }
    WaitingRows backlog(const Sql& sql) {
        const Rows rows = one(db_.query(sql));
        return {rows.i64(0), rows.f64(1)};
    }

    Database& db_;
};

LastOutcomes MysqlHealthStore::last_outcomes(Id app, std::int64_t now) {
    // A client that reports a download error was still downloading. What never came has its deadline for a time: what
    // batch_planner gave up before that may still come.
    Sql sql("SELECT ended >= ");
    sql << now - 3600 << ", outcome, client_state = " << ClientState::kFilesDownloading
        << ", validate_state, COUNT(*) FROM (SELECT IF(received_time > 0, received_time, report_deadline) AS ended, "
        << "outcome, client_state, validate_state, exit_status FROM result WHERE appid = " << app
        << " AND server_state = " << ServerState::kOver << " ORDER BY id DESC LIMIT " << kNewestResults
        << ") AS newest WHERE ended BETWEEN " << now - 25 * 3600 << " AND " << now << " AND outcome IN ("
        << Outcome::kSuccess << "," << Outcome::kClientError << "," << Outcome::kNoReply << ","
        << Outcome::kValidateError << ") AND exit_status <> " << kExitAbortedByProject << " GROUP BY 1, 2, 3, 4";
    LastOutcomes last;
    for (Rows rows = db_.query(sql); rows.next();) {
        Outcomes& outcomes = rows.flag(0) ? last.last_hour : last.day_before;
        const auto outcome = rows.code<Outcome>(1);
        const auto validity = rows.code<ValidateState>(3);
        const std::int64_t n = rows.i64(4);
        outcomes.reported += n;
        if (outcome == Outcome::kClientError) (rows.flag(2) ? outcomes.download_errors : outcomes.compute_errors) += n;
        if (outcome == Outcome::kNoReply) outcomes.timeouts += n;
        if (outcome == Outcome::kValidateError) outcomes.invalid += n;
        if (outcome != Outcome::kSuccess) continue;
        if (validity == ValidateState::kValid) outcomes.valid += n;
        if (validity == ValidateState::kInvalid) outcomes.invalid += n;
    }
    return last;
}

std::optional<std::vector<LockWait>> MysqlHealthStore::lock_waits() {
    std::vector<LockWait> waits;
    try {
        // The server tells the times of transactions in its machine's time zone, whatever the session's is.
        Rows rows = db_.query(Sql(
            "SELECT MAX(TIMESTAMPDIFF(SECOND, waiting.trx_wait_started, CONVERT_TZ(NOW(), '+00:00', 'SYSTEM'))), holding.trx_mysql_thread_id, "
            "MAX(CONCAT(p.user, ' at ', p.host)) FROM information_schema.innodb_lock_waits AS w JOIN "
            "information_schema.innodb_trx AS waiting ON waiting.trx_id = w.requesting_trx_id JOIN "
            "information_schema.innodb_trx AS holding ON holding.trx_id = w.blocking_trx_id LEFT JOIN "
            "information_schema.processlist AS p ON p.id = holding.trx_mysql_thread_id GROUP BY 2 ORDER BY 1 DESC LIMIT 5"));
        while (rows.next()) waits.push_back({rows.f64(0), rows.i64(1), rows.text(2)});
    } catch (const DbError& error) {
        if (error.kind() != DbError::Kind::kOther) throw;
        return std::nullopt;
    }
    return waits;
}

}  // namespace

std::unique_ptr<HealthStore> make_health_store(Database& db) { return std::make_unique<MysqlHealthStore>(db); }

}  // namespace sluice
