// SPDX-License-Identifier: LGPL-3.0-or-later
// What the daemons of batches cost when they have nothing to do: batch_upkeep, batch_shares, batch_planner and
// gang_planner, as a new project runs them, on a database without rows of people, and on one where all batches are
// over. Prints for each the statements a minute, of the server's own log, and CPU; and what the server has of CPU
// beside its own idling.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/leave_root.h"
#include "tests/support/syncing_mariadb.h"
#include "tests/support/test_project.h"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr const char* kDaemons[] = {"batch_upkeep", "batch_shares", "batch_planner", "gang_planner"};

void wait(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// `n` hosts that were heard of lately, as many done workunits in a hundredth as many batches, and users with quotas.
void fill(Database& db, int n) {
    const int batches = std::max(1, n / 100);
    const auto numbers = [](int count) {
        Sql sql(" FROM (SELECT seq FROM seq_1_to_10000000 LIMIT ");
        return sql << count << ") numbers";
    };
    db.execute(Sql("SET sql_mode=''"));  // the other columns have their types' defaults
    Sql users("INSERT INTO user_submit (user_id,quota) SELECT seq,1"), hosts, owned, workunits, results;
    db.execute(users << numbers(5));
    hosts << "INSERT INTO host (userid,rpc_time,create_time,p_ncpus,p_fpops,on_frac,active_frac) SELECT 1,"
             "unix_timestamp()-mod(seq,3600),unix_timestamp()-864000,4,2e9,1,1"
          << numbers(n);
    db.execute(hosts);
    owned << "INSERT INTO batch (user_id,app_id,name,state,njobs,fraction_done,create_time,completion_time) SELECT "
             "1+mod(seq,5),1,concat('batch_',seq),2,100,1,unix_timestamp()-864000,unix_timestamp()-400000"
          << numbers(batches);
    db.execute(owned);
    workunits << "INSERT INTO workunit (appid,name,batch,canonical_resultid,assimilate_state,transition_time) SELECT "
                 "1,concat('wu_',seq),1+mod(seq,"
              << batches << "),seq,2,2147483647" << numbers(n);
    db.execute(workunits);
    results
        << "INSERT INTO result (appid,name,workunitid,batch,hostid,userid,server_state,outcome,validate_state) SELECT "
           "1,concat('wu_',seq,'_0'),seq,1+mod(seq,"
        << batches << "),seq,1,5,1,1" << numbers(n);
    db.execute(results);
}

/// The server's number of the newest connection.
std::int64_t newest_connection(Database& db) {
    return number_of(db, Sql("SELECT MAX(id) FROM information_schema.processlist WHERE id<>CONNECTION_ID()"));
}

void measure(PrivateMariaDb& server, TestProject& project, const std::string& what, double seconds) {
    Database& db = project.db();
    double before = server.cpu_seconds();
    wait(seconds);
    const double idling = server.cpu_seconds() - before;
    std::vector<Subprocess*> daemons;
    std::vector<std::int64_t> connections;
    for (const char* name : kDaemons) {
        const std::int64_t newest = newest_connection(db);
        daemons.push_back(&project.start(name));
        if (!eventually([&] { return newest_connection(db) > newest; }))
            throw std::runtime_error(std::string(name) + " does not connect: " + daemons.back()->err());
        connections.push_back(newest_connection(db));
    }
    wait(std::min(seconds, 20.0));  // the first passes are over
    std::vector<double> cpu;
    for (const Subprocess* daemon : daemons) cpu.push_back(daemon->cpu_seconds());
    db.execute(Sql("TRUNCATE TABLE mysql.general_log"));
    db.execute(Sql("SET GLOBAL general_log=ON"));
    before = server.cpu_seconds();
    wait(seconds);
    const double busy = server.cpu_seconds() - before;
    db.execute(Sql("SET GLOBAL general_log=OFF"));
    for (std::size_t i = 0; i < daemons.size(); ++i) {
        const auto statements =
            number_of(db, Sql("SELECT COUNT(*) FROM mysql.general_log WHERE thread_id=") << connections[i]);
        fmt::print("{}: {} {:.1f} statements a minute, {:.1f} ms CPU a minute\n", what, kDaemons[i],
                   60 * static_cast<double>(statements) / seconds,
                   60e3 * (daemons[i]->cpu_seconds() - cpu[i]) / seconds);
    }
    fmt::print("{}: the server {:.0f} ms CPU a minute (without the daemons {:.0f})\n", what, 60e3 * busy / seconds,
               60e3 * idling / seconds);
    Rows rows = db.query(Sql("SELECT thread_id, COUNT(*), LEFT(argument,100) FROM mysql.general_log WHERE thread_id>=")
                         << connections.front() << " GROUP BY 1,3 ORDER BY 1,2 DESC");
    while (rows.next()) fmt::print("  {} {} x {}\n", rows.text(0), rows.text(1), rows.text(2));
    project.stop_daemons();
}

}  // namespace

int main(int argc, char** argv) {
    sluice::test::leave_root(argv);
    const double seconds = argc > 1 ? std::atof(argv[1]) : 300;
    const int n = argc > 2 ? std::atoi(argv[2]) : 20000;
    MariaDbOptions options = syncing_mariadb(256);
    options.more.emplace_back("--log-output=TABLE");
    PrivateMariaDb server(options);
    TestProject project(server, "idle", "<compat_level>1</compat_level>");
    project.store();
    measure(server, project, "empty", seconds);
    fill(project.db(), n);
    measure(server, project, fmt::format("{} hosts, {} batches that are over", n, n / 100), seconds);
    return 0;
}
