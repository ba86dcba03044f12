// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/batch_watch_store.h"

#include <algorithm>

#include "db/mysql/columns.h"
#include "db/mysql/errors.h"
#include "db/mysql/own_tables.h"
#include "db/mysql/turns.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

// A row of kind "watch" stands for a batch that is watched: `figure` is WatchedBatch::promised, `told` its begun_well.
// The other kinds are events; `told` has a bit for the command and one for the mail.
constexpr int kToldCommand = 1, kToldMail = 2;
constexpr std::size_t kLongestSentence = 500;
/// When the first batch was watched: those that were complete before are old news.
constexpr const char* kWatchedSince = "batches watched since";
/// s after which it is old news that a batch is complete which nobody has watched.
constexpr std::int64_t kNews = 86400;

/// By the server's names; nullopt: "watch", or of another version.
std::optional<BatchEventKind> kind_of_name(const std::string& name) {
    for (const auto kind :
         {BatchEventKind::kSlow, BatchEventKind::kLate, BatchEventKind::kStopped, BatchEventKind::kDone})
        if (name == event_name(kind)) return kind;
    return std::nullopt;
}

/// What `read` returns; nothing if the table is not there.
template <typename Read>
auto unless_missing(Read read) -> decltype(read()) {
    try {
        return read();
    } catch (const DbError& e) {
        if (e.code() != kNoSuchTable) throw;
        return {};
    }
}

constexpr SqlLiteral kBatchColumns{
    "b.id,b.user_id,b.app_id,b.create_time,b.njobs,b.fraction_done,b.nerror_jobs,b.state,b.completion_time,"
    "b.est_completion_time,b.name"};

void read_batch_row(const Rows& r, int column, Batch& b) {
    r.read_from(column, b.id, b.user_id, b.app_id, b.create_time, b.njobs, b.fraction_done, b.nerror_jobs, b.state,
                b.completion_time, b.est_completion_time, b.name);
}

class MysqlBatchWatchStore final : public BatchWatchStore {
  public:
    explicit MysqlBatchWatchStore(Database& db) : db_(db) {}

    void prepare() override {
        make_marks(db_);
        make_tables(
            db_, {{"sluice_batch_event",
                   "batch_id bigint NOT NULL, kind varchar(10) NOT NULL, at bigint NOT NULL, says varchar(500) NOT "
                   "NULL, figure double NOT NULL, told integer NOT NULL, tries integer NOT NULL, due bigint NOT "
                   "NULL, PRIMARY KEY (batch_id, kind), KEY batch_event_due (due), KEY batch_event_kind (kind, at)"}});
    }

    std::vector<WatchedBatch> begin(std::int64_t now, bool write) override {
        std::int64_t since = read_mark(db_, kWatchedSince);
        if (since == 0) {
            since = now;
            if (write) set_mark(db_, kWatchedSince, now);
        }
        since = std::max(since, now - kNews);
        const Id first = first_open_batch(db_);
        const std::set<Id> known = noted_from(first);
        Sql sql("SELECT ");
        sql << kBatchColumns << " FROM batch b WHERE b.id>=" << first << " AND (b.state=" << BatchState::kInProgress
            << " OR (b.state=" << BatchState::kComplete << " AND b.completion_time>=" << since << ")) ORDER BY b.id";
        std::vector<WatchedBatch> fresh;
        for (Rows r = db_.query(sql); r.next();) {
            WatchedBatch w;
            read_batch_row(r, 0, w.row);
            if (!known.contains(w.row.id)) fresh.push_back(std::move(w));
        }
        if (!write || fresh.empty()) return fresh;
        Sql insert("INSERT IGNORE INTO sluice_batch_event (batch_id,kind,at,says,figure,told,tries,due) VALUES ");
        for (const WatchedBatch& w : fresh)
            insert << (&w == &fresh.front() ? SqlLiteral("(") : SqlLiteral(",(")) << w.row.id << ",'watch'," << now
                   << ",'',0,0,0,0)";
        db_.execute(insert);
        return fresh;
    }

    std::vector<WatchedBatch> watched() override {
        return unless_missing([&] {
            Sql sql(
                "SELECT w.batch_id,w.figure,w.told,b.id IS NULL,(SELECT GROUP_CONCAT(e.kind) FROM sluice_batch_event e "
                "WHERE e.batch_id=w.batch_id),");
            sql << kBatchColumns
                << " FROM sluice_batch_event w LEFT JOIN batch b ON b.id=w.batch_id WHERE w.kind='watch' ORDER BY w.batch_id";
            std::vector<WatchedBatch> all;
            for (Rows r = db_.query(sql); r.next();) {
                WatchedBatch w;
                Id id = 0;
                std::string kinds;
                r.read(id, w.promised, w.begun_well, w.gone, kinds);
                if (!w.gone) read_batch_row(r, 5, w.row);
                w.row.id = id;
                for (const std::string_view kind : split(kinds, ',')) w.noted.emplace(kind);
                all.push_back(std::move(w));
            }
            return all;
        });
    }

    BatchOutcomes outcomes(Id batch) override {
        // Operations as shares count them (docs/batches.md), but that programs use a small part of a GPU's peak speed.
        constexpr SqlLiteral kOperations{"IF(r.flops_estimate>2*GREATEST(h.p_ncpus,1)*GREATEST(h.p_fpops,1e9),0.1,1)*"};
        Sql sql(
            "SELECT COALESCE(SUM(good),0),COALESCE(SUM(failed),0),COUNT(DISTINCT IF(failed,hostid,NULL)),"
            "COALESCE(SUM(times>0),0),COALESCE(SUM(times>=");
        sql << BatchOutcomes::kSlowFactor << "),0),COALESCE(AVG(IF(times>=" << BatchOutcomes::kSlowFactor
            << ",times,NULL)),0) FROM (SELECT r.hostid,r.outcome=1 AND r.validate_state<>2 good," << kFailed
            << " failed,IF((r.outcome=1 OR (r.outcome=3 AND r.exit_status=197)) AND r.elapsed_time>0 AND "
               "w.rsc_fpops_est>0,"
            << kOperations << kMeasured << "/" << kEstimate << ",0) times FROM " << first_instances(batch)
            << " r LEFT JOIN workunit w ON w.id=r.workunitid LEFT JOIN host h ON h.id=r.hostid WHERE r.server_state=5) t";
        BatchOutcomes o;
        Rows r = db_.query(sql);
        if (r.next()) r.read(o.good, o.failed, o.failing_hosts, o.timed, o.slow, o.slow_by);
        if (o.good == 0 && o.failed > 0) read_exit_status(batch, o);
        return o;
    }

    void update(const WatchedBatch& batch) override {
        Sql sql("UPDATE sluice_batch_event SET figure=");
        sql << batch.promised << ",told=" << batch.begun_well << " WHERE batch_id=" << batch.row.id;
        db_.execute(sql << " AND kind='watch'");
    }

    void note(const BatchEvent& event, bool tell) override { db_.execute(insert_of(event, tell)); }

    void end(Id batch, const std::optional<BatchEvent>& last, bool tell) override {
        const bool stopped = last && last->kind == BatchEventKind::kStopped;
        db_.transaction([&] {
            if (last) {
                Sql note = insert_of(*last, tell);
                // A stop was noted before it was carried out, and is told now.
                db_.execute(note << " ON DUPLICATE KEY UPDATE due=VALUES(due)");
            }
            Sql over("DELETE FROM sluice_batch_event WHERE batch_id=");
            over << batch << " AND kind IN ('watch'" << (stopped ? SqlLiteral(")") : SqlLiteral(",'stopped')"));
            db_.execute(over);
        });
    }

  private:
    static constexpr SqlLiteral kFailed{
        "((r.outcome IN (3,6) AND r.exit_status NOT IN (200,202,203)) OR (r.outcome=1 AND r.validate_state=2))"};

    static Sql insert_of(const BatchEvent& event, bool tell) {
        Sql sql("INSERT IGNORE INTO sluice_batch_event (batch_id,kind,at,says,figure,told,tries,due) VALUES (");
        return sql << event.batch << "," << SqlText{event_name(event.kind), 10} << "," << event.at << ","
                   << SqlText{event.says, kLongestSentence} << ",0,0,0," << (tell ? event.at : 0) << ")";
    }

    /// Batches that are watched, or were until they were done.
    std::set<Id> noted_from(Id first) {
        return unless_missing([&] {
            Sql sql("SELECT batch_id FROM sluice_batch_event WHERE kind IN ('watch','done') AND batch_id>=");
            std::set<Id> ids;
            for (Rows r = db_.query(sql << first); r.next();) ids.insert(r.i64(0));
            return ids;
        });
    }

    /// The narrow columns of the batch's first instances, in brackets.
    static Sql first_instances(Id batch) {
        Sql sql(
            "(SELECT id,workunitid,hostid,server_state,outcome,validate_state,exit_status,elapsed_time,cpu_time,sent_time,"
            "received_time,flops_estimate FROM result FORCE INDEX (res_batch) WHERE batch=");
        return sql << batch << " ORDER BY id LIMIT " << BatchOutcomes::kMostLookedAt << ")";
    }

    void read_exit_status(Id batch, BatchOutcomes& o) {
        Sql sql("SELECT r.exit_status,COUNT(*) n FROM ");
        sql << first_instances(batch) << " r WHERE r.server_state=5 AND r.outcome=3 AND " << kFailed
            << " GROUP BY r.exit_status ORDER BY n DESC,r.exit_status LIMIT 1";
        Rows r = db_.query(sql);
        if (r.next()) r.read(o.exit_status, o.with_exit_status);
    }

    Database& db_;
};

class MysqlBatchEventStore final : public BatchEventStore {
  public:
    explicit MysqlBatchEventStore(Database& db) : db_(db) {}

    std::vector<BatchEvent> of(std::span<const Id> batches) override {
        if (batches.empty()) return {};
        Sql where("batch_id IN (");
        return events(where.ids(batches) << ") AND kind<>'watch' ORDER BY at,batch_id,kind");
    }

    std::vector<BatchEvent> since(BatchEventKind kind, std::int64_t time, int most) override {
        Sql where("kind=");
        where << SqlText{event_name(kind), 10} << " AND at>=" << time;
        return events(where << " ORDER BY at DESC,batch_id DESC LIMIT " << most);
    }

    EventsToTell to_tell() override {
        return unless_missing([&] {
            EventsToTell all;
            Rows r = db_.query(
                Sql("SELECT COUNT(*),COALESCE(MIN(at),0),COALESCE(MAX(tries),0) FROM sluice_batch_event WHERE due>0"));
            if (r.next()) r.read(all.n, all.oldest, all.most_tries);
            return all;
        });
    }

    std::vector<EventToTell> due(std::int64_t now, int most) override {
        return unless_missing([&] {
            Sql sql(
                "SELECT e.batch_id,e.kind,e.at,e.says,e.told,e.tries,b.name,a.name,u.name,u.email_addr,b.user_id,b.njobs,"
                "b.nerror_jobs FROM sluice_batch_event e LEFT JOIN batch b ON b.id=e.batch_id LEFT JOIN app a ON "
                "a.id=b.app_id LEFT JOIN user u ON u.id=b.user_id WHERE e.due>0 AND e.due<=");
            std::vector<EventToTell> all;
            for (Rows r = db_.query(sql << now << " ORDER BY e.due,e.batch_id LIMIT " << most); r.next();) {
                EventToTell t;
                std::string kind;
                int told = 0;
                r.read(t.event.batch, kind, t.event.at, t.event.says, told, t.tries, t.batch_name, t.app_name,
                       t.owner_name, t.owner_address, t.owner, t.jobs, t.failed);
                t.told_command = (told & kToldCommand) != 0, t.told_mail = (told & kToldMail) != 0;
                const auto known = kind_of_name(kind);
                if (!known) continue;
                t.event.kind = *known;
                all.push_back(std::move(t));
            }
            return all;
        });
    }

    void settle(const EventToTell& event, std::int64_t again) override {
        Sql sql("UPDATE sluice_batch_event SET told=");
        sql << ((event.told_command ? kToldCommand : 0) | (event.told_mail ? kToldMail : 0)) << ",tries=" << event.tries
            << ",due=" << again << " WHERE batch_id=" << event.event.batch << " AND kind=";
        db_.execute(sql << SqlText{event_name(event.event.kind), 10});
    }

  private:
    std::vector<BatchEvent> events(const Sql& where) {
        return unless_missing([&] {
            Sql sql("SELECT batch_id,kind,at,says FROM sluice_batch_event WHERE ");
            std::vector<BatchEvent> all;
            for (Rows r = db_.query(sql << where); r.next();) {
                BatchEvent e;
                std::string kind;
                r.read(e.batch, kind, e.at, e.says);
                const auto known = kind_of_name(kind);
                if (!known) continue;
                e.kind = *known;
                all.push_back(std::move(e));
            }
            return all;
        });
    }

    Database& db_;
};

}  // namespace

const char* event_name(BatchEventKind kind) {
    switch (kind) {
        case BatchEventKind::kSlow: return "slow";
        case BatchEventKind::kLate: return "late";
        case BatchEventKind::kStopped: return "stopped";
        case BatchEventKind::kDone: break;
    }
    return "done";
}

std::unique_ptr<BatchWatchStore> make_batch_watch_store(Database& db) {
    return std::make_unique<MysqlBatchWatchStore>(db);
}
std::unique_ptr<BatchEventStore> make_batch_event_store(Database& db) {
    return std::make_unique<MysqlBatchEventStore>(db);
}

}  // namespace sluice
