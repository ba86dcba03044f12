// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "db/mysql/errors.h"
#include "db/mysql/own_tables.h"
#include "db/mysql/share_work.h"
#include "db/mysql/turns.h"
#include "db/store_rules.h"
#include "sluice/db/share_store.h"

namespace sluice {
namespace {

using share::BatchTags;
using share::ClockState;
using share::UserTags;

constexpr std::size_t kBatchesAtOnce = 200;  ///< batches a statement
bool same(const BatchTags& a, const BatchTags& b) {
    return a.seconds == b.seconds && a.start == b.start && a.end == b.end && a.share == b.share &&
           a.finished == b.finished;
}

class MysqlShareStore final : public ShareStore {
  public:
    explicit MysqlShareStore(Database& db) : db_(db) {}

    void prepare() override {
        make_tables(
            db_,
            {{"sluice_share_clock",
              "id tinyint NOT NULL PRIMARY KEY, virtual_time double NOT NULL, started tinyint NOT NULL"},
             {"sluice_share_user", "user_id integer NOT NULL PRIMARY KEY, quota double NOT NULL"},
             {"sluice_share_batch",
              "batch_id bigint NOT NULL PRIMARY KEY, user_id integer NOT NULL, seconds double NOT NULL, "
              "start_tag double NOT NULL, end_tag double NOT NULL, share double NOT NULL, place bigint NOT NULL, "
              "finished tinyint NOT NULL, charged double NOT NULL, KEY share_open (finished)"},
             {"sluice_share_stream",
              "batch_id bigint NOT NULL PRIMARY KEY, user_id integer NOT NULL, kept double NOT NULL, "
              "until_time double NOT NULL, charged double NOT NULL, head double NOT NULL, waits tinyint NOT NULL"},
             {"sluice_share_measured", "batch_id bigint NOT NULL PRIMARY KEY, operations double NOT NULL"},
             {"sluice_share_day",
              "day integer NOT NULL, user_id integer NOT NULL, operations double NOT NULL, PRIMARY KEY (day,user_id)"},
             {"sluice_share_speed", "id tinyint NOT NULL PRIMARY KEY, flops double NOT NULL"},
             {"sluice_share_lst", "user_id integer NOT NULL PRIMARY KEY, lst double NOT NULL"}});
        db_.execute(Sql("INSERT IGNORE INTO sluice_share_clock (id, virtual_time, started) VALUES (1,0,0)"));
        make_marks(db_);
        made_ = writes_ = true;
    }

    ProjectSpeed project_speed(double now) override {
        Sql sql("SELECT SUM(IF(expavg_time>");
        Rows r = db_.query(sql << now - 30 * 86400.0 << ",expavg_credit,0)), MIN(create_time) FROM app_version");
        return r.next() ? ProjectSpeed{r.f64(0) * kFlopsPerDailyCredit, r.f64(1)} : ProjectSpeed{};
    }

    std::optional<UserQuota> quota(Id user) override {
        Sql sql("SELECT quota, (SELECT SUM(GREATEST(quota,0)) FROM user_submit) FROM user_submit WHERE user_id=");
        Rows r = db_.query(sql << user);
        if (!r.next()) return std::nullopt;
        return UserQuota{r.f64(0), r.f64(1)};
    }

    double advance(Id user, double now, double delta, bool write) override {
        double lst = 0;
        // Whether a COMMIT without an answer took place is seen by the value.
        const auto took_place = [&] { return write && read_lst(user) == lst; };
        db_.transaction(
            [&] {
                lst = std::max(read_lst(user), now) + delta;
                if (!write) return;
                Sql sql("UPDATE user_submit SET logical_start_time=");
                db_.execute(sql << lst << " WHERE user_id=" << user);
            },
            took_place);
        return lst;
    }

    std::vector<BatchWork> works(double now, std::optional<Id> only) override {
        std::vector<BatchWork> all;
        Sql sql(
            "SELECT b.id, b.user_id, b.state, b.logical_end_time, s.batch_id IS NOT NULL, "
            "COALESCE(s.finished=0,0), COALESCE(s.charged,0), COALESCE(t.until_time,-1) FROM batch b LEFT JOIN ");
        sql << places() << " s ON s.batch_id=b.id LEFT JOIN " << stream_charges() << " t ON t.batch_id=b.id WHERE ";
        if (only)
            sql << "b.id=" << *only;
        else
            sql << "b.state=1 OR s.finished=0 OR (b.state=0 AND "
                   "EXISTS (SELECT 1 FROM workunit w FORCE INDEX (wu_batch) WHERE w.batch=b.id))";
        Rows r = db_.query(sql << " ORDER BY b.id");
        while (r.next()) {
            BatchWork w;
            r.read(w.id, w.user_id, w.state, w.logical_end_time, w.known, w.unfinished, w.charged);
            if (w.state == BatchState::kInit) {
                w.stream.emplace();
                w.stream->until = r.f64(7);
                w.stream->next_until = next_settled(w.stream->until, now);
            }
            all.push_back(w);
        }
        const auto others_begin =
            std::stable_partition(all.begin(), all.end(), [](const BatchWork& w) { return w.stream.has_value(); });
        const std::span<BatchWork> streams(all.begin(), others_begin), others(others_begin, all.end());
        read_streams(db_, streams, writes_);
        for (std::size_t first = 0; first < others.size(); first += kBatchesAtOnce)
            read_work(db_, others.subspan(first, std::min(kBatchesAtOnce, others.size() - first)));
        std::ranges::sort(all, {}, &BatchWork::id);
        return all;
    }

    BatchWork work_without_batch(double now, Id owner) override {
        BatchWork w = stream_without_batch(owner, now);
        if (are_made()) {
            Rows r = db_.query(Sql("SELECT until_time FROM sluice_share_stream WHERE batch_id=0"));
            if (r.next()) w.stream->until = r.f64(0);
        }
        w.stream->next_until = next_settled(w.stream->until, now);
        read_streams(db_, std::span(&w, 1), writes_);
        return w;
    }

    std::vector<Id> without_place() override {
        Sql sql("SELECT b.id FROM batch b FORCE INDEX (PRIMARY) JOIN user_submit u ON u.user_id=b.user_id LEFT JOIN ");
        sql << places() << " s ON s.batch_id=b.id AND s.finished=0 WHERE b.id>(SELECT GREATEST(MAX(id),"
            << kMostLookedAt << ")-" << kMostLookedAt << " FROM batch) AND b.state=1";
        Rows r = db_.query(sql << " AND u.quota>0 AND s.batch_id IS NULL ORDER BY b.id");
        std::vector<Id> ids;
        while (r.next()) ids.push_back(r.i64(0));
        return ids;
    }

    std::vector<DailyWork> work_by_day(std::int64_t from_day) override {
        std::vector<DailyWork> all;
        try {
            Sql sql("SELECT day, user_id, operations FROM sluice_share_day WHERE day>=");
            Rows r = db_.query(sql << from_day << " ORDER BY day, user_id");
            while (r.next()) all.push_back({r.i64(0), r.i64(1), r.f64(2)});
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;  // batch_shares never ran
        }
        return all;
    }

    std::vector<ShareUser> users() override {
        Rows r = db_.query(Sql(
            "SELECT s.user_id, u.name, s.quota FROM user_submit s JOIN user u ON u.id=s.user_id ORDER BY s.user_id"));
        std::vector<ShareUser> all;
        while (r.next()) all.push_back({r.i64(0), r.text(1), r.f64(2)});
        return all;
    }

    void change(const ShareSettings& settings, double now, const std::function<void(ShareBook&)>& work) override {
        constexpr int kAttempts = 3;
        for (int attempt = 1;; ++attempt) {
            try {
                return transaction_in_turn(db_, "share_clock", [&] { change_once(settings, now, work); });
            } catch (const DbError& e) {
                if (e.kind() != DbError::Kind::kLost || attempt == kAttempts) throw;
            }
        }
    }

    void look(const ShareSettings& settings, double now, const std::function<void(ShareBook&)>& work) override {
        ShareBook book = open_book(settings, now, load(Sql()));
        work(book);
    }

  private:
    /// The tables may be missing for who only looks.
    bool are_made() {
        if (made_) return true;
        Rows r = db_.query(Sql(
            "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME='sluice_share_lst'"));
        return made_ = r.next();
    }
    SqlLiteral places() {
        if (are_made()) return "sluice_share_batch";
        return "(SELECT 0 batch_id, 0 finished, 0 charged FROM DUAL WHERE 0)";
    }
    SqlLiteral stream_charges() {
        if (are_made()) return "sluice_share_stream";
        return "(SELECT 0 batch_id, 0 until_time FROM DUAL WHERE 0)";
    }

    double read_lst(Id user) {
        Sql sql("SELECT logical_start_time FROM user_submit WHERE user_id=");
        Rows r = db_.query(sql << user << " FOR UPDATE");
        return r.next() ? r.f64(0) : 0;
    }

    struct Stored {
        ClockState state;
        std::map<Id, StreamCharge> streams;
        std::map<Id, double> measured;
        double flops = 0;
        std::map<Id, std::int64_t> places;
        std::map<Id, double> quotas;  ///< as user_submit has them
        std::map<Id, double> own_lst;
        std::int64_t next_place = 1;
    };

    void change_once(const ShareSettings& settings, double now, const std::function<void(ShareBook&)>& work) {
        const Stored before = load(Sql(" FOR UPDATE"));
        ShareBook book = open_book(settings, now, before);
        work(book);
        save(before, book);
        save_days(before, book, static_cast<std::int64_t>(now / 86400));
    }

    static ShareBook open_book(const ShareSettings& settings, double now, const Stored& stored) {
        ShareBook book{share::LogicalClock(settings.rule, settings.clamp, stored.state),
                       {},
                       stored.quotas,
                       stored.streams,
                       stored.measured,
                       {},
                       stored.flops,
                       {}};
        if (settings.rule == share::ShareRule::kSettled) book.own_lst = stored.own_lst;
        take_quotas(book, now);
        return book;
    }

    /// `lock`: " FOR UPDATE", or nothing for who only looks.
    Stored load(const Sql& lock) {
        Stored s;
        if (are_made()) load_clock(s, lock);
        load_users(s, lock);
        if (are_made()) load_batches(s);
        return s;
    }

    void load_clock(Stored& s, const Sql& lock) {
        Sql sql("SELECT virtual_time, started FROM sluice_share_clock WHERE id=1");
        Rows clock = db_.query(sql << lock);
        if (!clock.next())
            throw DbError(DbError::Kind::kOther, 0, "sluice_share_clock has no row: drop the table, it is made again");
        s.state.virtual_time = clock.f64(0);
        s.state.started = clock.flag(1);
    }

    void load_users(Stored& s, const Sql& lock) {
        Sql sql("SELECT u.user_id, u.quota, u.logical_start_time, ");
        if (are_made())
            sql << "s.user_id IS NOT NULL, COALESCE(s.quota,0), l.user_id IS NOT NULL, COALESCE(l.lst,0) FROM user_submit u "
                   "LEFT JOIN sluice_share_user s ON s.user_id=u.user_id LEFT JOIN sluice_share_lst l ON "
                   "l.user_id=u.user_id";
        else
            sql << "0, 0, 0, 0 FROM user_submit u";
        Rows users = db_.query(sql << " ORDER BY u.user_id" << lock);
        while (users.next()) {
            const Id id = users.i64(0);
            s.quotas[id] = usable_quota(users.f64(1));
            const double lst = users.f64(2);
            if (users.flag(5)) s.own_lst[id] = users.f64(6);
            // Upstream's tools have charged each user who has a start time.
            if (users.flag(3) || lst > 0) s.state.users[id] = {users.f64(4), lst, true};
        }
    }

    void load_batches(Stored& s) {
        // Whose row is gone has left, which is for the next pass to find.
        Rows gone = db_.query(
            Sql("SELECT user_id, quota FROM sluice_share_user WHERE quota>0 AND user_id NOT IN (SELECT user_id FROM "
                "user_submit)"));
        while (gone.next()) s.state.users[gone.i64(0)] = {gone.f64(1), 0, true};
        Rows batches = db_.query(
            Sql("SELECT batch_id, user_id, seconds, start_tag, end_tag, share, place FROM sluice_share_batch WHERE "
                "finished=0 ORDER BY place"));
        while (batches.next()) {
            s.state.batches.push_back({batches.i64(0), batches.i64(1), batches.f64(2), batches.f64(3), batches.f64(4),
                                       batches.f64(5), false});
            s.places[batches.i64(0)] = batches.i64(6);
        }
        Rows streams =
            db_.query(Sql("SELECT batch_id, user_id, kept, until_time, charged, head, waits FROM sluice_share_stream"));
        while (streams.next()) {
            const StreamCharge t{streams.i64(1), streams.f64(2), streams.f64(3),
                                 streams.f64(4), streams.f64(5), streams.flag(6)};
            s.streams[streams.i64(0)] = t;
            const auto user = s.state.users.find(t.user_id);
            if (user != s.state.users.end() && user->second.quota > 0) user->second.streaming |= t.waits;
        }
        Rows measured = db_.query(Sql(
            "SELECT m.batch_id, m.operations FROM sluice_share_measured m LEFT JOIN batch b ON b.id=m.batch_id LEFT JOIN "
            "sluice_share_batch s ON s.batch_id=b.id WHERE m.batch_id=0 OR b.state IN (0,1) OR s.finished=0"));
        while (measured.next()) s.measured[measured.i64(0)] = measured.f64(1);
        Rows speed = db_.query(Sql("SELECT flops FROM sluice_share_speed WHERE id=1"));
        if (speed.next()) s.flops = speed.f64(0);
        Rows last = db_.query(Sql("SELECT COALESCE(MAX(place),0)+1 FROM sluice_share_batch"));
        if (last.next()) s.next_place = last.i64(0);
    }

    void save(const Stored& before, const ShareBook& book) {
        const ClockState after = book.clock.state();
        if (after.virtual_time != before.state.virtual_time || after.started != before.state.started) {
            Sql sql("UPDATE sluice_share_clock SET virtual_time=");
            db_.execute(sql << after.virtual_time << ", started=" << (after.started ? 1 : 0) << " WHERE id=1");
        }
        if (book.flops != before.flops) {
            Sql sql("REPLACE INTO sluice_share_speed (id, flops) VALUES (1,");
            db_.execute(sql << book.flops << ")");
        }
        for (const auto& [id, user] : after.users) {
            save_user(before, id, user);
            save_own_lst(before, book, id, user.lst);
        }
        for (const auto& [id, stream] : book.streams) save_stream(before, id, stream);
        for (const auto& [id, stream] : before.streams)
            if (!book.streams.contains(id)) remove_stream(id);
        std::map<Id, const BatchTags*> old;
        for (const BatchTags& b : before.state.batches) old[b.id] = &b;
        std::int64_t place = before.next_place;
        for (const BatchTags& b : after.batches) {
            const auto known = old.find(b.id);
            const auto charged = book.charged.find(b.id);
            std::optional<double> charge;
            if (charged != book.charged.end()) charge = charged->second;
            if (known != old.end() && same(*known->second, b) && !charge) continue;
            save_batch(b, known == old.end() ? place++ : before.places.at(b.id), charge);
        }
    }

    void save_user(const Stored& before, Id id, const UserTags& user) {
        const auto old = before.state.users.find(id);
        const bool is_new = old == before.state.users.end();
        if (is_new || old->second.lst != user.lst) {
            Sql sql("UPDATE user_submit SET logical_start_time=");
            db_.execute(sql << user.lst << " WHERE user_id=" << id);
        }
        if (is_new || old->second.quota != user.quota) {
            Sql sql("INSERT INTO sluice_share_user (user_id, quota) VALUES (");
            db_.execute(sql << id << "," << user.quota << ") ON DUPLICATE KEY UPDATE quota=VALUES(quota)");
        }
    }

    void save_own_lst(const Stored& before, const ShareBook& book, Id id, double lst) {
        const auto user = before.state.users.find(id);
        const auto own = before.own_lst.find(id);
        const bool is_new = user == before.state.users.end() || own == before.own_lst.end();
        const double next = is_new ? lst : next_own_lst(book, id, own->second, user->second.lst, lst);
        if (!is_new && next == own->second) return;
        Sql sql("INSERT INTO sluice_share_lst (user_id, lst) VALUES (");
        db_.execute(sql << id << "," << next << ") ON DUPLICATE KEY UPDATE lst=VALUES(lst)");
    }

    void save_days(const Stored& before, const ShareBook& book, std::int64_t day) {
        for (const auto& [batch, operations] : book.measured) {
            const auto old = before.measured.find(batch);
            if (old != before.measured.end() && old->second == operations) continue;
            Sql sql("INSERT INTO sluice_share_measured (batch_id, operations) VALUES (");
            db_.execute(sql << batch << "," << operations << ") ON DUPLICATE KEY UPDATE operations=VALUES(operations)");
        }
        for (const auto& [user, operations] : book.given) {
            Sql sql("INSERT INTO sluice_share_day (day, user_id, operations) VALUES (");
            db_.execute(sql << day << "," << user << "," << operations
                            << ") ON DUPLICATE KEY UPDATE operations=operations+VALUES(operations)");
        }
    }

    void save_stream(const Stored& before, Id id, const StreamCharge& t) {
        const auto old = before.streams.find(id);
        if (old != before.streams.end() && old->second == t) return;
        Sql sql("INSERT INTO sluice_share_stream (batch_id, user_id, kept, until_time, charged, head, waits) VALUES (");
        db_.execute(
            sql << id << "," << t.user_id << "," << t.kept << "," << t.until << "," << t.charged << "," << t.head << ","
                << (t.waits ? 1 : 0)
                << ") ON DUPLICATE KEY UPDATE user_id=VALUES(user_id), kept=VALUES(kept), "
                   "until_time=VALUES(until_time), charged=VALUES(charged), head=VALUES(head), waits=VALUES(waits)");
    }

    void remove_stream(Id id) {
        Sql sql("DELETE FROM sluice_share_stream WHERE batch_id=");
        db_.execute(sql << id);
    }

    void save_batch(const BatchTags& b, std::int64_t place, std::optional<double> charged) {
        Sql sql(
            "INSERT INTO sluice_share_batch (batch_id, user_id, seconds, start_tag, end_tag, share, place, finished, charged) "
            "VALUES (");
        sql << b.id << "," << b.user << "," << b.seconds << "," << b.start << "," << b.end << "," << b.share << ","
            << place << "," << (b.finished ? 1 : 0) << "," << charged.value_or(0)
            << ") ON DUPLICATE KEY UPDATE seconds=VALUES(seconds), start_tag=VALUES(start_tag), end_tag=VALUES(end_tag), "
               "share=VALUES(share), place=VALUES(place), finished=VALUES(finished)";
        if (charged) sql << ", charged=VALUES(charged)";
        db_.execute(sql);
        Sql row("UPDATE batch SET logical_start_time=");
        db_.execute(row << b.start << ", logical_end_time=" << b.end << " WHERE id=" << b.id);
    }

    Database& db_;
    bool writes_ = false;  ///< prepare() was called
    bool made_ = false;    ///< the tables are there
};

}  // namespace

std::unique_ptr<ShareStore> make_share_store(Database& db) { return std::make_unique<MysqlShareStore>(db); }

}  // namespace sluice
