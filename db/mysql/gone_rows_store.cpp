// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/gone_rows_store.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "db/mysql/errors.h"

namespace sluice {
namespace {

/// What a row lives by.
enum class RowOwner {
    kHost,
    kUser,      ///< and his row in user_submit
    kWorkunit,  ///< db_purge takes it away
    kResult,
    kBatch,  ///< that is not retired: until then it may go on, or be settled
    kJobs,   ///< a batch that is new or in progress, or any workunit of a batch: else none will come
    kAge     ///< `time` of the row itself
};

/// Of one kind of rows.
struct GoneRowsRule {
    SqlLiteral table, key;
    RowOwner by;
    SqlLiteral range{""};      ///< of keys: AND …
    SqlLiteral unless{""};     ///< of rows that may go: AND …
    SqlLiteral time{""};       ///< of kAge
    double unit = 1, age = 0;  ///< s; of kAge: rows go when `time` (in units) is so old
};

constexpr double kADay = 86400;

/// sluice_host_rpc holds three kinds of keys: see registration_id() and HostStateStore::add_trickle_bytes().
constexpr SqlLiteral kHosts{" AND host_id>0"};
constexpr SqlLiteral kRegistrations{" AND host_id<0 AND host_id>-2305843009213693952"};
constexpr SqlLiteral kAccounts{" AND host_id<=-4611686018427387904"};
constexpr SqlLiteral kNotForNone{" AND batch_id>0"};  // 0: jobs without a batch

constexpr GoneRowsRule kRules[] = {
    {"sluice_host_rpc", "host_id", RowOwner::kHost, kHosts},
    // A second RPC that registers the same machine waits for the first one's row: for a minute at most.
    {"sluice_host_rpc", "host_id", RowOwner::kAge, kRegistrations, "", "on_since", 1, kADay},
    {"sluice_host_rpc", "host_id", RowOwner::kAge, kAccounts, "", "attempt", kADay, 2 * kADay},
    {"sluice_host_ltt", "host_id", RowOwner::kHost},
    {"sluice_gang_host", "host_id", RowOwner::kHost},
    {"sluice_gang_wait", "batch_id", RowOwner::kJobs},
    {"sluice_gang_job", "batch_id", RowOwner::kJobs},
    {"sluice_gang", "batch_id", RowOwner::kJobs},
    {"sluice_accel_result", "workunit_id", RowOwner::kWorkunit},
    {"sluice_accel_job", "workunit_id", RowOwner::kWorkunit},
    {"sluice_plan_copy", "workunit_id", RowOwner::kWorkunit},
    {"sluice_plan_job", "result_id", RowOwner::kResult},
    {"sluice_plan_submission", "batch_id", RowOwner::kAge, "", "", "heard_at", 1, 30 * kADay},
    {"sluice_share_measured", "batch_id", RowOwner::kBatch, kNotForNone,
     " AND batch_id NOT IN (SELECT s.batch_id FROM sluice_share_batch s WHERE s.finished=0)"},
    {"sluice_share_batch", "batch_id", RowOwner::kBatch, kNotForNone, " AND finished=1"},
    {"sluice_batch_event", "batch_id", RowOwner::kBatch, "", " AND due=0"},
    {"sluice_marks", "IF(name LIKE 'stream %',CAST(SUBSTRING(name,8) AS SIGNED),0)", RowOwner::kBatch,
     " AND name LIKE 'stream %' AND name<>'stream 0'"},
    {"sluice_share_lst", "user_id", RowOwner::kUser},
    {"sluice_share_user", "user_id", RowOwner::kUser, "", " AND quota<=0"},
    {"sluice_share_day", "day", RowOwner::kAge, "", "", "day", kADay, 400 * kADay},
};

/// Trickle messages, by message_days. BOINC's tables: what nobody has handled stays.
constexpr SqlLiteral kHandled{" AND handled=1"};
constexpr GoneRowsRule kMessageRules[] = {
    {"msg_from_host", "id", RowOwner::kAge, kHandled, "", "create_time"},
    {"msg_to_host", "id", RowOwner::kAge, kHandled, "", "create_time"},
};

class MysqlGoneRowsStore final : public GoneRowsStore {
  public:
    MysqlGoneRowsStore(Database& db, bool dry_run, double message_days)
        : db_(db), dry_run_(dry_run), rules_(std::begin(kRules), std::end(kRules)) {
        if (message_days <= 0) return;
        for (GoneRowsRule rule : kMessageRules) {
            rule.age = message_days * kADay;
            rules_.push_back(rule);
        }
    }

    int kinds() const override { return static_cast<int>(rules_.size()); }
    std::string_view table(int kind) const override { return rule(kind).table.text; }

    Page remove(int kind, Id after, double now, int keys) override {
        try {
            return remove_page(rule(kind), after, now, keys);
        } catch (const DbError& e) {
            // Another version of Sluice made the table without the column.
            if (e.code() != kNoSuchTable && e.code() != kNoSuchColumn) throw;
            return {};
        }
    }

  private:
    const GoneRowsRule& rule(int kind) const { return rules_[static_cast<std::size_t>(kind)]; }

    Page remove_page(const GoneRowsRule& rule, Id after, double now, int keys) {
        Sql sql("SELECT DISTINCT ");
        sql << rule.key << " FROM " << rule.table << " WHERE " << rule.key << ">" << after << rule.range << " ORDER BY "
            << rule.key << " LIMIT " << keys;
        const std::vector<Id> all = ids_of(sql);
        if (all.empty()) return {};
        Page page{all.back(), static_cast<int>(all.size()) < keys, 0};
        std::vector<Id> gone = without_living(rule, all, now, SqlLiteral(""));
        if (gone.empty()) return page;
        if (dry_run_) {
            page.rows = static_cast<std::int64_t>(gone.size());
            return page;
        }
        db_.transaction([&] {
            // This connection reads what is not committed: somebody may take back that he removed a host.
            const std::vector<Id> still = without_living(rule, gone, now, SqlLiteral(" LOCK IN SHARE MODE"));
            page.rows = 0;
            if (still.empty()) return;
            Sql remove("DELETE FROM ");
            remove << rule.table << " WHERE " << rule.key << " IN (";
            remove.ids(still) << ")" << rule.range << rule.unless;
            if (rule.by == RowOwner::kAge) remove << " AND " << rule.time << "<" << oldest(rule, now);
            page.rows = db_.execute(remove << " LIMIT " << kAtOnce);
        });
        if (page.rows == kAtOnce) page.last = after, page.end = false;
        return page;
    }

    static std::int64_t oldest(const GoneRowsRule& rule, double now) {
        return static_cast<std::int64_t>((now - rule.age) / rule.unit);
    }

    std::vector<Id> ids_of(const Sql& sql) {
        std::vector<Id> ids;
        for (Rows r = db_.query(sql); r.next();) ids.push_back(r.i64(0));
        return ids;
    }

    /// Those of `keys` that are gone.
    std::vector<Id> without_living(const GoneRowsRule& rule, const std::vector<Id>& keys, double now, SqlLiteral lock) {
        std::set<Id> living;
        const auto read = [&](Sql sql, SqlLiteral more) {
            sql.ids(keys) << ")" << more << lock;
            for (Rows r = db_.query(sql); r.next();) living.insert(r.i64(0));
        };
        switch (rule.by) {
            case RowOwner::kHost: read(Sql("SELECT id FROM host WHERE id IN ("), ""); break;
            case RowOwner::kUser:
                read(Sql("SELECT id FROM user WHERE id IN ("), "");
                read(Sql("SELECT user_id FROM user_submit WHERE user_id IN ("), "");
                break;
            case RowOwner::kWorkunit: read(Sql("SELECT id FROM workunit WHERE id IN ("), ""); break;
            case RowOwner::kResult: read(Sql("SELECT id FROM result WHERE id IN ("), ""); break;
            case RowOwner::kBatch: read(Sql("SELECT id FROM batch WHERE id IN ("), " AND state<>4"); break;
            case RowOwner::kJobs:
                read(Sql("SELECT id FROM batch WHERE id IN ("), " AND state IN (0,1)");
                add_with_jobs(keys, living);
                break;
            case RowOwner::kAge: {
                Sql young("SELECT DISTINCT ");
                young << rule.key << " FROM " << rule.table << " WHERE " << rule.time << ">=" << oldest(rule, now)
                      << " AND " << rule.key << " IN (";
                read(young, "");
                break;
            }
        }
        std::vector<Id> gone;
        std::ranges::copy_if(keys, std::back_inserter(gone), [&](Id key) { return !living.contains(key); });
        return gone;
    }

    /// One look into the index for each: a batch may have a million.
    void add_with_jobs(const std::vector<Id>& batches, std::set<Id>& living) {
        Sql sql("SELECT batch FROM (");
        for (const Id batch : batches) {
            if (batch != batches.front()) sql << " UNION ALL ";
            sql << "(SELECT batch FROM workunit WHERE batch=" << batch << " LIMIT 1)";
        }
        for (Rows r = db_.query(sql << ") b"); r.next();) living.insert(r.i64(0));
    }

    Database& db_;
    bool dry_run_;
    std::vector<GoneRowsRule> rules_;
};

}  // namespace

std::unique_ptr<GoneRowsStore> make_gone_rows_store(Database& db, bool dry_run, double message_days) {
    return std::make_unique<MysqlGoneRowsStore>(db, dry_run, message_days);
}

}  // namespace sluice
