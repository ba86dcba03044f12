// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "db/mysql/bulk.h"
#include "db/mysql/columns.h"
#include "db/mysql/inactive_stock.h"
#include "db/mysql/share_work.h"
#include "db/mysql/turns.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/db/size_store.h"
#include "sluice/model/anonymous_version.h"

namespace sluice {
namespace {

/// Ids of one UPDATE: bounds the time that its row locks are held.
constexpr std::int64_t kBatch = 2000;
/// Results drawn at once in random order: so many times what is wanted, but not more than kMostDrawn.
constexpr std::int64_t kDrawn = 20, kMostDrawn = 100000;
constexpr int kRounds = 5;

/// Nobody releases these: a class that does not exist, or none at all and INACTIVE.
Sql of_no_class(int classes) {
    Sql sql(" AND (size_class>=");
    return sql << std::max(classes, 0) << " OR (size_class<0 AND server_state=1))";
}

class MysqlSizeRegulatorStore final : public SizeRegulatorStore {
  public:
    explicit MysqlSizeRegulatorStore(Database& db) : db_(db) {}

    std::optional<App> app(const std::string& name) override {
        Sql sql("SELECT id, name, n_size_classes, deprecated FROM app WHERE name=");
        Rows r = db_.query(sql << SqlText{name, 191});
        if (!r.next()) return std::nullopt;
        App a;
        r.read(a.id, a.name, a.n_size_classes, a.deprecated);
        return a;
    }

    std::map<int, std::int64_t> unsent(Id appid) override {
        Sql sql("SELECT size_class, COUNT(*) FROM result WHERE server_state=2 AND appid=");
        return by_class(sql << appid << " GROUP BY size_class");
    }

    std::vector<std::int64_t> release(Id appid, ReleaseOrder order, const Decide& decide) override {
        std::vector<std::int64_t> released;
        std::map<int, Id> dry;  // kept only if what was found is committed
        // The snapshot that counts is taken in turn.
        transaction_in_turn(db_, turn_of(appid), [&] {
            released.clear();
            dry.clear();
            for (const auto& [size_class, wanted] : decide(unsent(appid)))
                released.push_back(release_some(appid, size_class, wanted, order, dry));
        });
        for (const auto& [size_class, last] : dry) exhausted_[{appid, size_class}] = last;
        return released;
    }

    ReleasePlaces places(double now) override {
        ReleasePlaces places;
        const auto shares = read_batch_shares(db_);
        if (shares.empty()) return places;
        const BatchPlan plan = make_batch_plan_store(db_)->plan();
        for (const auto& [batch, place] : shares)
            places[batch] = {place.share, place.head, plan.binding(batch, now) != nullptr};
        return places;
    }

    std::map<int, std::int64_t> release_queues(Id appid, std::int64_t most, const DecideQueues& decide) override {
        // If anything goes wrong it is read anew.
        auto known = stocks_.extract(appid);
        InactiveStock stock = known ? std::move(known.mapped()) : InactiveStock(appid);
        stock.read(db_, most);
        std::map<int, std::int64_t> released;
        // Most looks find nothing to do: seen without a turn.
        if (!decide(stock.queues(db_)).empty() && !release_in_turn(stock, decide, released)) {
            // Read outside the transaction: there may be millions.
            stock.forget();
            stock.read(db_, most);
            if (!release_in_turn(stock, decide, released)) return released;
        }
        stocks_.emplace(appid, std::move(stock));
        return released;
    }

    void look_everywhere(Id appid) override {
        stocks_.erase(appid);
        std::erase_if(exhausted_, [&](const auto& e) { return e.first.first == appid; });
        std::erase_if(drawn_, [&](const auto& d) { return d.first.first == appid; });
    }

    std::map<int, std::int64_t> orphans(Id appid, int classes) override {
        Sql sql("SELECT size_class, COUNT(*) FROM result WHERE server_state IN (1,2) AND appid=");
        return by_class(sql << appid << of_no_class(classes) << " GROUP BY size_class");
    }

    std::int64_t reclassify(Id appid, int classes, int new_class, int limit) override {
        std::int64_t moved = 0;
        db_.transaction([&] {
            Sql sql("SELECT id, workunitid FROM result WHERE server_state IN (1,2) AND appid=");
            Rows r = db_.query(sql << appid << of_no_class(classes) << " LIMIT " << limit);
            std::vector<Id> results, workunits;
            while (r.next()) {
                results.push_back(r.i64(0));
                workunits.push_back(r.i64(1));
            }
            moved = 0;
            if (results.empty()) return;
            std::sort(workunits.begin(), workunits.end());  // every process locks workunits first, by id
            workunits.erase(std::unique(workunits.begin(), workunits.end()), workunits.end());
            std::sort(results.begin(), results.end());
            Sql wu("UPDATE workunit SET size_class=");
            wu << new_class << " WHERE id IN (";
            db_.execute(wu.ids(workunits) << ")");
            Sql res("UPDATE result SET size_class=");
            res << new_class;
            if (new_class < 0) res << ", server_state=2";  // nobody would release a job without class
            res << " WHERE server_state IN (1,2) AND id IN (";
            moved = db_.execute(res.ids(results) << ")");
        });
        return moved;
    }

  private:
    static std::string turn_of(Id appid) { return "size_regulator " + std::to_string(appid); }

    struct Taken {
        std::vector<std::pair<QueueRelease, std::vector<Id>>> jobs;  ///< of the stock
        std::map<int, std::int64_t> released;                        ///< by class
        bool all = true;                                             ///< of the jobs were INACTIVE
    };
    /// Adds to `released`. False: some of what was taken was INACTIVE no longer.
    bool release_in_turn(InactiveStock& stock, const DecideQueues& decide, std::map<int, std::int64_t>& released) {
        Taken taken;
        transaction_in_turn(db_, turn_of(stock.app()), [&] { taken = release_decided(stock, decide); });
        for (const auto& [queue, ids] : taken.jobs) stock.remove(queue, ids);
        for (const auto& [size_class, n] : taken.released) released[size_class] += n;
        return taken.all;
    }

    Taken release_decided(const InactiveStock& stock, const DecideQueues& decide) {
        Taken taken;
        std::map<int, std::vector<Id>> of_class;
        for (const QueueRelease& queue : decide(stock.queues(db_))) {
            const auto& ids = taken.jobs.emplace_back(queue, stock.first(queue)).second;
            std::ranges::copy(ids, std::back_inserter(of_class[queue.size_class]));
        }
        for (const auto& [size_class, ids] : of_class) {
            const std::int64_t n = make_unsent(ids, stock.app(), size_class);
            taken.released[size_class] += n;
            taken.all = taken.all && n == static_cast<std::int64_t>(ids.size());
        }
        return taken;
    }

    std::map<int, std::int64_t> by_class(const Sql& sql) {
        std::map<int, std::int64_t> counts;
        Rows r = db_.query(sql);
        while (r.next()) counts[r.i32(0)] = r.i64(1);
        return counts;
    }

    /// `dry`: of a class that has fewer, the id up to which there are none any more.
    std::int64_t release_some(Id appid, int size_class, std::int64_t wanted, ReleaseOrder order,
                              std::map<int, Id>& dry) {
        std::int64_t released = 0;
        // What others took in the meantime still stands in this transaction's snapshot: no endless loop over it.
        bool more = true;
        for (int round = 0; round < kRounds && more && released < wanted; ++round) {
            std::vector<Id> ids;
            if (order == ReleaseOrder::kRandom) {
                ids = drawn(appid, size_class, wanted - released, more);
            } else {
                ids = candidates(appid, size_class, wanted, order);
                more = false;
            }
            if (!more && static_cast<std::int64_t>(ids.size()) < wanted - released) {
                Rows highest = db_.query(Sql("SELECT MAX(id) FROM result"));
                if (highest.next()) dry[size_class] = std::max<Id>(0, highest.i64(0) - kIdOverlap);
            }
            released += make_unsent(ids, appid, size_class);
        }
        return released;
    }

    std::int64_t make_unsent(const std::vector<Id>& ids, Id appid, int size_class) {
        std::int64_t released = 0;
        for (const auto some : bulk::parts(ids, kBatch)) {
            std::vector<Id> part(some.begin(), some.end());
            std::sort(part.begin(), part.end());
            Sql sql("UPDATE result FORCE INDEX (PRIMARY) SET server_state=2 WHERE server_state=1 AND appid=");
            sql << appid << " AND size_class=" << size_class << " AND id IN (";
            released += db_.execute(sql.ids(part) << ")");
        }
        return released;
    }

    /// At most `n` in random order. No index has it: the whole queue is sorted, so more are drawn than asked for, for
    /// the next releases too. `more`: there may be others.
    std::vector<Id> drawn(Id appid, int size_class, std::int64_t n, bool& more) {
        std::vector<Id>& stock = drawn_[{appid, size_class}];
        bool all = false;
        if (stock.empty()) {
            const std::int64_t draw = std::max(n, std::min(kDrawn * n, kMostDrawn));
            stock = candidates(appid, size_class, draw, ReleaseOrder::kRandom);
            all = static_cast<std::int64_t>(stock.size()) < draw;
            std::reverse(stock.begin(), stock.end());  // taken from the end
        }
        const auto first =
            stock.end() - std::min(static_cast<std::ptrdiff_t>(stock.size()), static_cast<std::ptrdiff_t>(n));
        std::vector<Id> ids(std::make_reverse_iterator(stock.end()), std::make_reverse_iterator(first));
        stock.erase(first, stock.end());
        more = !all || !stock.empty();
        return ids;
    }

    /// Read without locks: an UPDATE with ORDER BY … LIMIT would lock every row that it looks at.
    std::vector<Id> candidates(Id appid, int size_class, std::int64_t wanted, ReleaseOrder order) {
        const bool by_priority = order == ReleaseOrder::kPriorityAscending ||
                                 order == ReleaseOrder::kPriorityDescending ||
                                 order == ReleaseOrder::kPriorityThenWorkunit;
        const auto exhausted = exhausted_.find({appid, size_class});
        const Id after = exhausted == exhausted_.end() ? 0 : exhausted->second;
        // ind_res_st is (server_state, priority): in priority order it gives the first `wanted` without sorting.
        Sql sql("SELECT id FROM result ");
        sql << (by_priority && after == 0 ? SqlLiteral("FORCE INDEX (ind_res_st) ")
                                          : SqlLiteral("FORCE INDEX (res_app_state) "))
            << "WHERE server_state=1 AND appid=" << appid << " AND size_class=" << size_class;
        if (after > 0) sql << " AND id>" << after;
        switch (order) {
            case ReleaseOrder::kNone: break;
            case ReleaseOrder::kRandom: sql << " ORDER BY random"; break;
            case ReleaseOrder::kPriorityAscending: sql << " ORDER BY priority"; break;
            case ReleaseOrder::kPriorityDescending: sql << " ORDER BY priority DESC"; break;
            case ReleaseOrder::kPriorityThenWorkunit: sql << " ORDER BY priority DESC, workunitid"; break;
        }
        sql << " LIMIT " << wanted;
        std::vector<Id> ids;
        Rows r = db_.query(sql);
        while (r.next()) ids.push_back(r.i64(0));
        return ids;
    }

    Database& db_;
    std::map<std::pair<Id, int>, std::vector<Id>>
        drawn_;                                   ///< (app, class): INACTIVE results in random order, next last
    std::map<std::pair<Id, int>, Id> exhausted_;  ///< (app, class): no INACTIVE result up to this id
    std::map<Id, InactiveStock> stocks_;          ///< by app
};

/// Quantiles of so many hosts are as good as those of all.
constexpr int kMostHosts = 100000;

class MysqlSizeCensusStore final : public SizeCensusStore {
  public:
    explicit MysqlSizeCensusStore(Database& db) : db_(db) {}

    std::vector<App> apps(bool all) override {
        if (all) return size_classes_of_apps(db_, " WHERE deprecated=0");
        return size_classes_of_apps(db_, " WHERE deprecated=0 AND n_size_classes>1");
    }

    void speeds(Id appid, double min_credit, bool anonymous,
                const std::function<void(const SpeedRecord&)>& row) override {
        std::map<Id, SpeedRecord> versions = versions_of(appid);
        for (int type = 0; anonymous && type < kProcTypes; ++type)
            versions[generalized_version_id(appid, anonymous_version_id(static_cast<ProcType>(type)))].anonymous_type =
                type;
        if (versions.empty()) return;
        std::vector<Id> ids;
        for (const auto& [id, version] : versions) ids.push_back(id);
        // One statement, and from the hosts: host_app_version has no index that begins with the version.
        Sql sql(
            "SELECT hav.et_avg, h.on_frac, h.active_frac, h.gpu_active_frac, hav.app_version_id FROM (SELECT id, on_frac, "
            "active_frac, gpu_active_frac FROM host FORCE INDEX (host_avg) WHERE expavg_credit");
        sql << (min_credit >= 0 ? Sql(">") : Sql(">=")) << std::max(0.0, min_credit)
            << " ORDER BY expavg_credit DESC LIMIT " << kMostHosts
            << ") h STRAIGHT_JOIN host_app_version hav ON hav.host_id=h.id "
               "WHERE hav.et_n>0 AND hav.et_avg>0 AND hav.app_version_id IN (";
        sql.ids(ids) << ")";
        db_.query_streaming(sql, [&](const Rows& r) {
            SpeedRecord s = versions.at(r.i64(4));
            r.read(s.et_avg, s.on_frac, s.active_frac, s.gpu_active_frac);
            row(s);
        });
    }

  private:
    /// What can be said of each version itself.
    std::map<Id, SpeedRecord> versions_of(Id appid) {
        std::map<Id, SpeedRecord> versions;
        Sql sql("SELECT id, plan_class FROM app_version WHERE appid=");
        for (Rows r = db_.query(sql << appid); r.next();) versions[r.i64(0)].plan_class = r.text(1);
        return versions;
    }

    Database& db_;
};

}  // namespace

std::unique_ptr<SizeRegulatorStore> make_size_regulator_store(Database& db) {
    return std::make_unique<MysqlSizeRegulatorStore>(db);
}
std::unique_ptr<SizeCensusStore> make_size_census_store(Database& db) {
    return std::make_unique<MysqlSizeCensusStore>(db);
}

}  // namespace sluice
