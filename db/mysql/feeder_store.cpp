// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>

#include "db/mysql/columns.h"
#include "sluice/db/feeder_store.h"

namespace sluice {
namespace {

Sql row_columns(const UnsentFilter& filter) {
    Sql sql("SELECT r.id, r.workunitid, r.appid, r.batch, r.priority, r.random, ");
    sql << (filter.with_hr_class ? Sql("w.hr_class") : Sql("0"));
    return sql << " FROM result r ";
}

Sql join_of(const UnsentFilter& filter) {
    return filter.with_hr_class ? Sql(" STRAIGHT_JOIN workunit w ON w.id = r.workunitid ") : Sql("");
}

Sql conditions(const UnsentFilter& filter) {
    Sql sql;
    if (!filter.appids.empty()) (sql << " AND r.appid IN (").ids(filter.appids) << ")";
    if (filter.share.n > 0) sql << " AND r.id % " << filter.share.n << "=" << filter.share.i;
    if (filter.workunit_share.n > 0)
        sql << " AND r.workunitid % " << filter.workunit_share.n << "=" << filter.workunit_share.i;
    if (filter.part.n > 1) {
        sql << " AND (r.id * " << FeederPart::kFactor << " DIV " << FeederPart::kDivisor << " % " << filter.part.n
            << "=" << filter.part.i;
        if (filter.others_before > 0) sql << " OR r.create_time < " << filter.others_before;
        sql << ")";
    }
    return sql;
}

class MysqlFeederStore final : public FeederStore {
  public:
    explicit MysqlFeederStore(Database& db) : db_(db) {}
    std::vector<UnsentRow> unsent_page(const UnsentFilter& filter, WalkOrder order, const WalkPosition& from,
                                       int limit) override;
    std::vector<UnsentJob> load(std::span<const Id> results) override;
    std::vector<JobState> look_at(std::span<const Id> results) override;
    std::int64_t mark_didnt_need(std::span<const Id> results, std::int64_t now) override;
    std::int64_t release_hr_class(std::span<const Id> workunits, std::int64_t now, bool extra_instance) override;
    std::vector<Submitter> submitters(std::span<const Id> users) override;
    std::vector<std::pair<Id, Id>> batch_owners(std::span<const Id> batches) override;
    std::optional<HostFit> hosts_that_fit(double memory, double disk, std::int64_t heard_since) override;

  private:
    std::vector<UnsentRow> rows(const Sql& sql);
    std::vector<UnsentRow> page_by_id(const UnsentFilter& filter, Id after, int limit);
    std::vector<UnsentRow> rest_of_level(const UnsentFilter& filter, std::int64_t priority, Id after, int limit);
    std::vector<UnsentRow> further_levels(const UnsentFilter& filter, bool down, const WalkPosition& from, int limit);
    Database& db_;
};

std::vector<UnsentRow> MysqlFeederStore::rows(const Sql& sql) {
    std::vector<UnsentRow> all;
    Rows rows = db_.query(sql);
    all.reserve(rows.size());
    while (rows.next()) {
        all.push_back({rows.i64(0), rows.i64(1), rows.i64(2), rows.i64(3), rows.i64(4), rows.i64(5), rows.i32(6)});
    }
    return all;
}

// Index res_app_state ends in the primary key: a range of it, in order.
std::vector<UnsentRow> MysqlFeederStore::page_by_id(const UnsentFilter& filter, Id after, int limit) {
    Sql sql = row_columns(filter);
    sql << "FORCE INDEX (res_app_state)" << join_of(filter) << " WHERE r.server_state = " << ServerState::kUnsent
        << conditions(filter) << " AND r.id > " << after << " ORDER BY r.id LIMIT " << limit;
    return rows(sql);
}

// Index ind_res_st (server_state, priority) ends in the primary key as well: no sorting, however long the level is.
std::vector<UnsentRow> MysqlFeederStore::rest_of_level(const UnsentFilter& filter, std::int64_t priority, Id after,
                                                       int limit) {
    Sql sql = row_columns(filter);
    sql << "FORCE INDEX (ind_res_st)" << join_of(filter) << " WHERE r.server_state = " << ServerState::kUnsent
        << " AND r.priority = " << priority << " AND r.id > " << after << conditions(filter) << " ORDER BY r.id LIMIT "
        << limit;
    return rows(sql);
}

/// The levels behind the one `from` stands in. The index runs one way only, so ids come in the priorities' direction.
/// Whole levels are sorted here; a level that the limit cut is read again from its beginning.
std::vector<UnsentRow> MysqlFeederStore::further_levels(const UnsentFilter& filter, bool down, const WalkPosition& from,
                                                        int limit) {
    Sql sql = row_columns(filter);
    sql << "FORCE INDEX (ind_res_st)" << join_of(filter) << " WHERE r.server_state = " << ServerState::kUnsent;
    if (from.begun) sql << (down ? Sql(" AND r.priority < ") : Sql(" AND r.priority > ")) << from.priority;
    sql << conditions(filter)
        << (down ? Sql(" ORDER BY r.priority DESC, r.id DESC") : Sql(" ORDER BY r.priority, r.id")) << " LIMIT "
        << limit;
    std::vector<UnsentRow> found = rows(sql);
    if (!down) return found;
    const bool cut = static_cast<int>(found.size()) == limit && limit > 0;
    const std::int64_t last_level = found.empty() ? 0 : found.back().priority;
    if (cut) {
        const auto first_of_last =
            std::find_if(found.begin(), found.end(), [&](const UnsentRow& r) { return r.priority == last_level; });
        found.erase(first_of_last, found.end());
    }
    std::sort(found.begin(), found.end(), [](const UnsentRow& a, const UnsentRow& b) {
        return a.priority != b.priority ? a.priority > b.priority : a.id < b.id;
    });
    if (cut) {
        const auto level = rest_of_level(filter, last_level, 0, limit - static_cast<int>(found.size()));
        found.insert(found.end(), level.begin(), level.end());
    }
    return found;
}

std::vector<UnsentRow> MysqlFeederStore::unsent_page(const UnsentFilter& filter, WalkOrder order,
                                                     const WalkPosition& from, int limit) {
    if (order == WalkOrder::kById) return page_by_id(filter, from.begun ? from.id : 0, limit);
    std::vector<UnsentRow> page;
    if (from.begun) page = rest_of_level(filter, from.priority, from.id, limit);
    const int room = limit - static_cast<int>(page.size());
    if (room == 0) return page;
    const auto more = further_levels(filter, order == WalkOrder::kPriorityDown, from, room);
    page.insert(page.end(), more.begin(), more.end());
    return page;
}

std::vector<UnsentJob> MysqlFeederStore::load(std::span<const Id> results) {
    std::vector<UnsentJob> jobs;
    if (results.empty()) return jobs;
    Sql sql = select_unsent_jobs();
    (sql << " FROM result r JOIN workunit w ON w.id = r.workunitid WHERE r.id IN (").ids(results) << ")";
    for (Rows rows = db_.query(sql); rows.next();) jobs.push_back(read_unsent_job(rows));
    return jobs;
}

std::vector<JobState> MysqlFeederStore::look_at(std::span<const Id> results) {
    std::vector<JobState> states;
    if (results.empty()) return states;
    Sql sql(
        "SELECT r.id, r.server_state, r.priority, w.priority, w.hr_class, w.error_mask, w.size_class, w.app_version_id, "
        "w.canonical_resultid, w.transitioner_flags FROM result r JOIN workunit w ON w.id = r.workunitid WHERE r.id IN (");
    sql.ids(results) << ")";
    Rows rows = db_.query(sql);
    while (rows.next()) {
        states.push_back({rows.i64(0), rows.code<ServerState>(1), rows.i64(2), rows.i64(3), rows.i32(4), rows.i32(5),
                          rows.i32(6), rows.i64(7), rows.i64(8), rows.code<TransitionerFlags>(9)});
    }
    return states;
}

std::int64_t MysqlFeederStore::mark_didnt_need(std::span<const Id> results, std::int64_t now) {
    if (results.empty()) return 0;
    std::vector<Id> sorted(results.begin(), results.end());
    std::sort(sorted.begin(), sorted.end());
    std::int64_t marked = 0;
    db_.transaction([&] {
        // Workunits before results: the order in which every process takes its locks. Their ids are asked for first:
        // with a subquery the server would look at every workunit. One whose result is sent meanwhile is due for
        // nothing, which costs a look of the transitioner.
        Sql unsent("SELECT DISTINCT workunitid FROM result FORCE INDEX (PRIMARY) WHERE id IN (");
        (unsent.ids(sorted)) << ") AND server_state = " << ServerState::kUnsent << " ORDER BY workunitid";
        std::vector<Id> workunits;
        for (Rows rows = db_.query(unsent); rows.next();) workunits.push_back(rows.i64(0));
        if (workunits.empty()) return;
        Sql due("UPDATE workunit SET " SLUICE_REAL_WRITE ", transition_time = LEAST(transition_time, ");
        (due << now << ") WHERE id IN (").ids(workunits) << ")";
        db_.execute(due);
        // The hint keeps the server from walking all unsent results by their state's index.
        Sql over("UPDATE result FORCE INDEX (PRIMARY) SET server_state = ");
        (over << ServerState::kOver << ", outcome = " << Outcome::kDidntNeed << " WHERE id IN (").ids(sorted)
            << ") AND server_state = " << ServerState::kUnsent;
        marked = db_.execute(over);
    });
    return marked;
}

std::int64_t MysqlFeederStore::release_hr_class(std::span<const Id> workunits, std::int64_t now, bool extra_instance) {
    if (workunits.empty()) return 0;
    std::vector<Id> sorted(workunits.begin(), workunits.end());
    std::sort(sorted.begin(), sorted.end());
    Sql sql("UPDATE workunit SET hr_class = 0, ");
    if (extra_instance) sql << "target_nresults = target_nresults + 1, ";
    (sql << "transition_time = " << now << " WHERE hr_class <> 0 AND id IN (").ids(sorted) << ")";
    if (!extra_instance) {
        sql << " AND NOT EXISTS (SELECT 1 FROM result r WHERE r.workunitid = workunit.id AND (r.server_state = "
            << ServerState::kInProgress << " OR (r.server_state = " << ServerState::kOver
            << " AND r.outcome = " << Outcome::kSuccess << ")))";
    }
    return db_.execute(sql);
}

std::vector<Submitter> MysqlFeederStore::submitters(std::span<const Id> users) {
    std::vector<Submitter> found;
    if (users.empty()) return found;
    Sql sql("SELECT s.user_id, s.quota FROM user_submit s JOIN user u ON u.id = s.user_id WHERE s.user_id IN (");
    sql.ids(users) << ") ORDER BY s.user_id";
    Rows rows = db_.query(sql);
    while (rows.next()) found.push_back({rows.i64(0), rows.f64(1)});
    return found;
}

std::vector<std::pair<Id, Id>> MysqlFeederStore::batch_owners(std::span<const Id> batches) {
    std::vector<std::pair<Id, Id>> found;
    if (batches.empty()) return found;
    Sql sql("SELECT id, user_id FROM batch WHERE id IN (");
    sql.ids(batches) << ")";
    Rows rows = db_.query(sql);
    while (rows.next()) found.emplace_back(rows.i64(0), rows.i64(1));
    return found;
}

/// MariaDB and MySQL end the statement after that time, each by its own word, which the other takes for a comment.
Sql select_within(double seconds) {
    Sql sql("/*M!100101 SET STATEMENT max_statement_time=");
    sql << seconds << " FOR */ SELECT /*+ MAX_EXECUTION_TIME(" << static_cast<std::int64_t>(seconds * 1000) << ") */ ";
    return sql;
}

bool took_too_long(const DbError& e) {
    constexpr int kMariaDb = 1969, kMySql = 3024;
    return e.code() == kMariaDb || e.code() == kMySql;
}

std::optional<HostFit> MysqlFeederStore::hosts_that_fit(double memory, double disk, std::int64_t heard_since) {
    // Nothing says which hosts were heard of lately but a look at all of them.
    Sql sql = select_within(kHostsPatience);
    sql << "COUNT(*), COALESCE(SUM(m_nbytes >= " << memory << "), 0), COALESCE(SUM(d_free >= " << disk
        << "), 0), COALESCE(SUM(m_nbytes >= " << memory << " AND d_free >= " << disk
        << "), 0) FROM (SELECT m_nbytes, d_free, rpc_time FROM host FORCE INDEX (host_avg) WHERE expavg_credit >= 0 "
           "ORDER BY expavg_credit DESC LIMIT "
        << kHostsLookedAt << ") h WHERE rpc_time >= " << heard_since;
    try {
        Rows rows = db_.query(sql);
        if (!rows.next()) return HostFit{};
        return HostFit{rows.i64(0), rows.i64(1), rows.i64(2), rows.i64(3)};
    } catch (const DbError& e) {
        if (!took_too_long(e)) throw;
        return std::nullopt;
    }
}

}  // namespace

std::unique_ptr<FeederStore> make_feeder_store(Database& db) { return std::make_unique<MysqlFeederStore>(db); }

}  // namespace sluice
