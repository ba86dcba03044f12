// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/message_store.h"

#include "sluice/model/average.h"

namespace sluice {
namespace {

class MysqlMessageStore final : public MessageStore {
  public:
    explicit MysqlMessageStore(Database& db) : db_(db) {}

    std::vector<HostMessage> unhandled(const std::optional<std::string>& variety, Id after, int limit) override {
        Sql sql("SELECT id, hostid, create_time, variety, xml FROM msg_from_host WHERE handled=0 AND id>");
        sql << after;
        if (variety) sql << " AND variety=" << SqlText{*variety};
        std::vector<HostMessage> messages;
        for (Rows r = db_.query(sql << " ORDER BY id LIMIT " << limit); r.next();) {
            HostMessage& m = messages.emplace_back();
            r.read(m.id, m.hostid, m.create_time, m.variety, m.xml);
        }
        return messages;
    }

    bool mark(Id message) override {
        Sql sql("UPDATE msg_from_host SET handled=1 WHERE handled=0 AND id=");
        return db_.execute(sql << message) == 1;
    }

    bool answer(Id message, const HostMessage& reply) override {
        bool first = false;
        db_.transaction([&] {
            if ((first = mark(message))) send(reply);
        });
        return first;
    }

    bool grant(Id message, Id hostid, double credit, double started, double now) override {
        bool done = false;
        db_.transaction([&] {
            done = false;
            if (!mark(message)) return;
            Id userid = 0, teamid = 0;
            done = add("SELECT expavg_credit, expavg_time, userid FROM host WHERE id=", "UPDATE host SET", hostid,
                       credit, started, now, userid);
            Id none = 0;
            if (done && add("SELECT expavg_credit, expavg_time, teamid FROM user WHERE id=", "UPDATE user SET", userid,
                            credit, started, now, teamid))
                add("SELECT expavg_credit, expavg_time, 0 FROM team WHERE id=", "UPDATE team SET", teamid, credit,
                    started, now, none);
        });
        return done;
    }

    std::optional<bool> extend(Id message, Id hostid, const std::string& result, std::int64_t now, std::int64_t until,
                               std::int64_t period) override {
        std::optional<bool> extended;
        db_.transaction([&] {
            extended.reset();
            Sql sql("SELECT id, report_deadline FROM result WHERE name=");
            Rows r = db_.query(sql << SqlText{result} << " AND hostid=" << hostid);
            const bool there = r.next();
            if (!mark(message) || !there) return;
            const Id id = r.i64(0);
            Sql update("UPDATE result SET report_deadline=LEAST(2147483647, report_deadline+");  // the column's most
            update << period << ") WHERE id=" << id << " AND server_state=4 AND report_deadline>=" << now
                   << " AND report_deadline<=" << until;
            extended = db_.execute(update) == 1;
        });
        return extended;
    }

    std::optional<HostSpeeds> speeds() override {
        std::vector<double> all;
        db_.query_streaming(Sql("SELECT p_fpops FROM host WHERE expavg_credit>10 ORDER BY p_fpops"),
                            [&](const Rows& r) { all.push_back(r.f64(0)); });
        if (all.empty()) return std::nullopt;
        return HostSpeeds{all[all.size() * 50 / 100], all[all.size() * 95 / 100]};
    }

    std::optional<double> host_speed(Id hostid) override {
        Sql sql("SELECT p_fpops FROM host WHERE id=");
        Rows r = db_.query(sql << hostid);
        return r.next() ? std::optional<double>(r.f64(0)) : std::nullopt;
    }

    void send(const HostMessage& m) override {
        Sql sql("INSERT INTO msg_to_host (create_time, hostid, variety, handled, xml) VALUES (");
        db_.execute(sql << m.create_time << "," << m.hostid << "," << SqlText{m.variety} << ",0," << SqlBlob{m.xml}
                        << ")");
    }

  private:
    /// `next`: the account that the row belongs to. False: there is no such row.
    bool add(SqlLiteral select, SqlLiteral update, Id id, double credit, double started, double now, Id& next) {
        Sql sql(select);
        Rows r = db_.query(sql << id << " FOR UPDATE");
        if (id == 0 || !r.next()) return false;
        double average = r.f64(0), time = r.f64(1);
        next = r.i64(2);
        add_credit(now, started, credit, average, time);
        Sql write(update);
        db_.execute(write << " total_credit=total_credit+" << credit << ", expavg_credit=" << average
                          << ", expavg_time=" << time << " WHERE id=" << id);
        return true;
    }

    Database& db_;
};

}  // namespace

std::unique_ptr<MessageStore> make_message_store(Database& db) { return std::make_unique<MysqlMessageStore>(db); }

}  // namespace sluice
