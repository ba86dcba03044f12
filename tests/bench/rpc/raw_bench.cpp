// The limit of the database: how many jobs a second it can hand out if nobody parses, scans, decides or replies.
// Transactions of two statements for ten jobs each (their workunits, then their results), over many connections.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/support/leave_root.h"
#include "tests/support/private_mariadb.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
    int connections = 16, jobs = 10, seconds = 5, rounds = 3, flush = 1;
};

void fill(Database& db, int workunits) {
    db.execute(Sql("SET SESSION sql_mode=''"));
    Sql sql(
        "INSERT INTO workunit (id,create_time,appid,name,xml_doc,transition_time,delay_bound,keywords) SELECT seq,1,1,"
        "CONCAT('wu_',seq),REPEAT('x',400),2147483647,604800,'' FROM seq_1_to_100000000 LIMIT ");
    db.execute(sql << workunits);
    db.execute(
        Sql("INSERT INTO result (id,create_time,workunitid,server_state,name,xml_doc_in,appid,random) SELECT id,1,id,2,"
            "CONCAT(name,'_0'),REPEAT('y',300),1,id*40503&65535 FROM workunit"));
    db.query(Sql("ANALYZE TABLE workunit,result"));
}

/// Hands out the jobs first, first+1 …; false: there were none left.
bool hand_out(Database& db, Id first, int jobs, int host) {
    std::vector<Id> ids;
    for (int i = 0; i < jobs; ++i) ids.push_back(first + i);
    bool sent = false;
    db.transaction([&] {
        Sql touch("UPDATE workunit FORCE INDEX (PRIMARY) SET transition_time=2000000000 WHERE id IN (");
        db.execute(touch.ids(ids) << ")");
        Sql send("UPDATE result FORCE INDEX (PRIMARY) SET server_state=4,userid=1,sent_time=1700000000,hostid=");
        send << host << ",report_deadline=2000000000,app_version_id=1,flops_estimate=1e9 WHERE id IN (";
        sent = db.execute(send.ids(ids) << ") AND server_state=2") == jobs;
    });
    return sent;
}

double round_of(const Settings& s, const DbSettings& project, std::atomic<Id>& next, Id last) {
    std::atomic<std::int64_t> sent{0};
    const auto begin = Clock::now();
    const auto until = begin + std::chrono::seconds(s.seconds);
    std::vector<std::thread> threads;
    for (int i = 0; i < s.connections; ++i) {
        threads.emplace_back([&, i] {
            Database db(project);
            while (Clock::now() < until) {
                const Id first = next.fetch_add(s.jobs);
                if (first + s.jobs > last || !hand_out(db, first, s.jobs, i + 1)) return;
                sent += s.jobs;
            }
        });
    }
    for (std::thread& t : threads) t.join();
    return static_cast<double>(sent) / std::chrono::duration<double>(Clock::now() - begin).count();
}

int bench(const Settings& s, int workunits) {
    PrivateMariaDb server({.flush_log_at_trx_commit = s.flush, .more = {"--innodb-buffer-pool-size=1G"}});
    const DbSettings project = server.create_project_database("raw");
    Database db(project);
    fill(db, workunits);
    std::atomic<Id> next{1};
    std::vector<double> rates;
    for (int i = 0; i < s.rounds; ++i) rates.push_back(round_of(s, project, next, workunits));
    std::sort(rates.begin(), rates.end());
    fmt::print(
        "{} connections, {} jobs a transaction, flush_log_at_trx_commit={}: {:.0f} jobs/s ({:.0f} to {:.0f}, n={})\n",
        s.connections, s.jobs, s.flush, rates[rates.size() / 2], rates.front(), rates.back(), rates.size());
    if (next + s.jobs <= workunits) return 0;
    fmt::print(stderr, "raw: the jobs ran out before the time did: raise --workunits\n");
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    leave_root(argv);
    CLI::App app("The limit of the database: transactions of two statements that hand out jobs.", "raw");
    Settings s;
    int workunits = 500000;
    app.add_option("--connections", s.connections, "at a time")->capture_default_str()->check(CLI::Range(1, 500));
    app.add_option("--jobs", s.jobs, "of one transaction")->capture_default_str()->check(CLI::Range(1, 1000));
    app.add_option("--seconds", s.seconds, "of one round")->capture_default_str()->check(CLI::Range(1, 600));
    app.add_option("--rounds", s.rounds)->capture_default_str()->check(CLI::Range(1, 100));
    app.add_option("--flush", s.flush, "innodb_flush_log_at_trx_commit: 1, as in production, waits for the disk")
        ->capture_default_str()
        ->check(CLI::Range(0, 2));
    app.add_option("--workunits", workunits, "with one unsent result each")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        return bench(s, workunits);
    } catch (const std::exception& e) {
        fmt::print(stderr, "raw: {}\n", e.what());
        return 1;
    }
}
