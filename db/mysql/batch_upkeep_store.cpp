// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>

#include "db/mysql/bulk.h"
#include "db/mysql/turns.h"
#include "sluice/db/batch_store.h"

namespace sluice {
namespace {

constexpr std::size_t kChunk = 500;              ///< batches a statement
constexpr std::int64_t kStaleInit = 90 * 86400;  ///< s after which a batch without jobs does not hold the mark

Batch read_batch(const Rows& r) {
    Batch b;
    r.read(b.id, b.app_id, b.create_time, b.njobs, b.fraction_done, b.nerror_jobs, b.state, b.completion_time,
           b.credit_canonical, b.expire_time, b.logical_end_time, b.name);
    return b;
}

constexpr SqlLiteral kColumns{
    "SELECT id, app_id, create_time, njobs, fraction_done, nerror_jobs, state, completion_time, credit_canonical, "
    "expire_time, logical_end_time, name FROM batch WHERE "};

class MysqlBatchUpkeepStore final : public BatchUpkeepStore {
  public:
    explicit MysqlBatchUpkeepStore(Database& db) : db_(db) {}

    std::vector<Batch> in_progress(std::int64_t now) override {
        const Id mark = read_mark(db_, kFirstOpenBatch);
        Sql sql(kColumns);
        Rows r = db_.query(sql << "id>=" << std::max<Id>(0, mark - kMarkSlack) << " AND state IN (0,1) ORDER BY id");
        std::vector<Batch> open;
        Id first = 0;
        while (r.next()) {
            Batch b = read_batch(r);
            const bool waits = b.state == BatchState::kInProgress || b.create_time > now - kStaleInit;
            if (waits && first == 0) first = b.id;
            if (b.state == BatchState::kInProgress) open.push_back(std::move(b));
        }
        // Small projects never get the table: nothing is gained there.
        if (first > mark + kMarkSlack) write_mark(first);
        return open;
    }

    std::optional<Batch> batch(Id id) override {
        Sql sql(kColumns);
        Rows r = db_.query(sql << "id=" << id);
        if (!r.next()) return std::nullopt;
        return read_batch(r);
    }

    std::vector<BatchProgress> progress(std::span<const Id> batches) override {
        std::vector<BatchProgress> all;
        for (const auto part : bulk::parts(batches, kChunk)) {
            std::map<Id, BatchProgress> found;
            Sql sql(
                "SELECT batch, COUNT(*), SUM(canonical_resultid<>0), SUM(canonical_resultid=0 AND error_mask<>0), "
                "SUM(IF(canonical_resultid<>0, canonical_credit, 0)) FROM workunit FORCE INDEX (wu_batch) WHERE batch IN (");
            Rows r = db_.query(sql.ids(part) << ") GROUP BY batch");
            while (r.next()) found[r.i64(0)] = {r.i64(0), r.i32(1), r.i32(2), r.i32(3), r.f64(4)};
            for (const Id id : part) {
                const auto it = found.find(id);
                all.push_back(it == found.end() ? BatchProgress{id, 0, 0, 0, 0} : it->second);
            }
        }
        return all;
    }

    std::int64_t write(std::span<const BatchChange> changes) override {
        std::vector<BatchChange> sorted(changes.begin(), changes.end());
        std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
        std::int64_t written = 0;
        for (const auto part : bulk::parts(sorted, kChunk)) written += write_part(part);
        return written;
    }

  private:
    std::int64_t write_part(std::span<const BatchChange> part) {
        using C = BatchChange;
        Sql sql("UPDATE batch SET njobs=");
        bulk::by_id(sql, "id", part, [](const C& c) { return std::int64_t{c.njobs}; });
        sql << ", fraction_done=";
        bulk::by_id(sql, "id", part, [](const C& c) { return c.fraction_done; });
        sql << ", nerror_jobs=";
        bulk::by_id(sql, "id", part, [](const C& c) { return std::int64_t{c.nerror_jobs}; });
        sql << ", completion_time=";
        bulk::by_id(sql, "id", part, [](const C& c) { return c.completion_time; });
        sql << ", credit_canonical=";
        bulk::by_id(sql, "id", part, [](const C& c) { return c.credit_canonical; });
        sql << ", state=";
        bulk::by_id(sql, "id", part, [](const C& c) { return static_cast<std::int64_t>(c.state); });
        // An owner who aborts the batch meanwhile wins.
        sql << " WHERE id IN (";
        bulk::id_list(sql, part);
        sql << ") AND state=";
        bulk::by_id(sql, "id", part, [](const C& c) { return static_cast<std::int64_t>(c.was_state); });
        return db_.execute(sql);
    }

    void write_mark(Id value) {
        make_marks(db_);
        set_mark(db_, kFirstOpenBatch, value);
    }

    Database& db_;
};

}  // namespace

std::unique_ptr<BatchUpkeepStore> make_batch_upkeep_store(Database& db) {
    return std::make_unique<MysqlBatchUpkeepStore>(db);
}

}  // namespace sluice
