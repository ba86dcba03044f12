// SPDX-License-Identifier: LGPL-3.0-or-later
// The limit of the database: how many jobs a second it can hand out if nobody parses, scans, decides or replies.
// Transactions of two statements for ten jobs each (their workunits, then their results), over many connections.
// With --scheduler also what feeder and resident scheduler hand out on the same server, asked by as many clients over
// FastCGI as a web server would; in turn, so that what the machine does besides meets both.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "sluice/base/project.h"
#include "tests/support/fastcgi_client.h"
#include "tests/support/leave_root.h"
#include "tests/support/paths.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/request_text.h"
#include "tests/support/syncing_mariadb.h"
#include "tests/support/test_project.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
    int connections = 16, jobs = 10, seconds = 5, rounds = 3, flush = 1, slots = 1000;
    int workunits = 500000;
    bool scheduler = false;
    std::string processes = "2-8";
};

constexpr int kHosts = 2000;  ///< so that none has more jobs than hosts have

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

/// A project with as many hosts as ask, its feeder and its resident scheduler.
class Ours {
  public:
    Ours(PrivateMariaDb& server, const Settings& s)
        : server_(server),
          project_(server, "ours",
                   fmt::format("<shmem_work_items>{0}</shmem_work_items><feeder_query_size>{0}</feeder_query_size>"
                               "<one_result_per_user_per_wu>0</one_result_per_user_per_wu><daily_result_quota>1000000"
                               "</daily_result_quota><dont_generate_upload_certificates>1"
                               "</dont_generate_upload_certificates>",
                               s.slots)) {
        for (int i = 1; i <= kHosts; ++i) {
            Host& h = project_.rows().hosts[i];
            h.id = i;
            h.userid = 1;
            h.domain_name = "box";
        }
        project_.store();
        project_.add_unsent_jobs(s.workunits);
        project_.db().query(Sql("ANALYZE TABLE workunit,result,host,app"));
        feeder_ = &project_.start_feeder();
        socket_ = (project_.folder() / "bench.sock").string();
        scheduler_ = &project_.start("scheduler", {"--listen", socket_, "--processes", s.processes});
        if (!scheduler_->wait_for_output("listening on")) throw std::runtime_error("scheduler: " + scheduler_->err());
    }
    /// Jobs a second that clients got; notes the time of each request.
    double round_of(const Settings& s) {
        const Cpu before = cpu();
        std::atomic<std::int64_t> sent{0};
        const auto begin = Clock::now();
        const auto until = begin + std::chrono::seconds(s.seconds);
        std::vector<std::thread> threads;
        for (int i = 0; i < s.connections; ++i)
            threads.emplace_back([&] {
                try {
                    while (Clock::now() < until) sent += ask(s.jobs);
                } catch (const std::exception& e) {
                    const std::lock_guard lock(noting_);
                    failed_ = e.what();
                }
            });
        for (std::thread& t : threads) t.join();
        if (!failed_.empty()) throw std::runtime_error(failed_);
        const Cpu after = cpu();
        jobs_ += sent;
        used_.server += after.server - before.server;
        used_.scheduler += after.scheduler - before.scheduler;
        used_.feeder += after.feeder - before.feeder;
        return static_cast<double>(sent) / std::chrono::duration<double>(Clock::now() - begin).count();
    }
    void print() {
        std::sort(times_.begin(), times_.end());
        const auto us = [this](double seconds) { return 1e6 * seconds / static_cast<double>(std::max<Id>(jobs_, 1)); };
        fmt::print(
            "CPU a job: server {:.0f} us, scheduler {:.0f}, feeder {:.0f}; a request: p50 {:.1f} ms, p99 {:.1f}\n",
            us(used_.server), us(used_.scheduler), us(used_.feeder), times_[times_.size() / 2],
            times_[times_.size() * 99 / 100]);
        fmt::print("requests without a job {}, of {}\n", empty_.load(), times_.size());
    }

  private:
    struct Cpu {
        double server = 0, scheduler = 0, feeder = 0;
    };
    Cpu cpu() const { return {server_.cpu_seconds(), scheduler_->family_cpu_seconds(), feeder_->cpu_seconds()}; }
    int ask(int jobs) {
        RequestText r;
        r.authenticator = kTestKey;
        const int n = ++requests_;
        r.hostid = 1 + n % kHosts;
        r.seqno = 1 + n / kHosts;
        r.ncpus = 16;
        r.list_others = false;
        r.work_seconds = jobs * 1000.0 - 500;  // 1e12 operations at 1e9 a second
        const std::string body = r.text();
        const auto begin = Clock::now();
        const std::string reply = FastcgiClient(socket_).request(
            {{"REMOTE_ADDR", "127.0.0.1"}, {"REQUEST_METHOD", "POST"}, {"CONTENT_LENGTH", std::to_string(body.size())}},
            body);
        const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
        if (reply.find("</scheduler_reply>") == std::string::npos) throw std::runtime_error("no reply: " + reply);
        int got = 0;
        for (auto at = reply.find("<result>"); at != std::string::npos; at = reply.find("<result>", at + 1)) ++got;
        empty_ += got == 0 ? 1 : 0;
        const std::lock_guard lock(noting_);
        times_.push_back(took.count());
        return got;
    }

    PrivateMariaDb& server_;
    TestProject project_;
    std::string socket_;
    Subprocess *feeder_ = nullptr, *scheduler_ = nullptr;
    std::atomic<int> requests_{0}, empty_{0};
    std::mutex noting_;
    std::vector<double> times_;
    std::string failed_;  ///< what one of the clients met
    Cpu used_;
    std::int64_t jobs_ = 0;
};

std::string spread(std::vector<double> v, const char* format) {
    std::sort(v.begin(), v.end());
    const auto text = [&](double x) { return fmt::format(fmt::runtime(format), x); };
    return fmt::format("{} ({} to {}, n={})", text(v[v.size() / 2]), text(v.front()), text(v.back()), v.size());
}

/// What one round left to be cleared away is not to be done in the next one's time.
void wait_for_purge(Database& db) {
    const auto left = [&] {
        return number_of(db, Sql("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME="
                                 "'INNODB_HISTORY_LIST_LENGTH'"));
    };
    if (!eventually([&] { return left() < 100; }, 300)) throw std::runtime_error("the server's purge does not end");
}

int bench(const Settings& s) {
    MariaDbOptions options = syncing_mariadb(1024);
    options.flush_log_at_trx_commit = s.flush;
    PrivateMariaDb server(options);
    const DbSettings project = server.create_project_database("raw");
    Database db(project);
    fill(db, s.workunits);
    std::optional<Ours> ours;
    if (s.scheduler) ours.emplace(server, s);
    std::atomic<Id> next{1};
    std::vector<double> rates, of_ours, parts;
    for (int i = 0; i < s.rounds; ++i) {
        wait_for_purge(db);
        rates.push_back(round_of(s, project, next, s.workunits));
        if (!ours) continue;
        wait_for_purge(db);
        of_ours.push_back(ours->round_of(s));
        parts.push_back(of_ours.back() / rates.back());
    }
    fmt::print("{} connections, {} jobs a transaction, flush_log_at_trx_commit={}: {} jobs/s\n", s.connections, s.jobs,
               s.flush, spread(rates, "{:.0f}"));
    if (ours) {
        fmt::print("the scheduler with {} processes, {} slots, {} jobs a request: {} jobs/s, of the limit {}\n",
                   s.processes, s.slots, s.jobs, spread(of_ours, "{:.0f}"), spread(parts, "{:.2f}"));
        ours->print();
    }
    if (next + s.jobs <= s.workunits) return 0;
    fmt::print(stderr, "raw: the jobs ran out before the time did: raise --workunits\n");
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    leave_root(argv);
    CLI::App app("The limit of the database: transactions of two statements that hand out jobs.", "raw");
    Settings s;
    app.add_option("--connections", s.connections, "at a time")->capture_default_str()->check(CLI::Range(1, 500));
    app.add_option("--jobs", s.jobs, "of one transaction")->capture_default_str()->check(CLI::Range(1, 1000));
    app.add_option("--seconds", s.seconds, "of one round")->capture_default_str()->check(CLI::Range(1, 600));
    app.add_option("--rounds", s.rounds)->capture_default_str()->check(CLI::Range(1, 100));
    app.add_option("--flush", s.flush, "innodb_flush_log_at_trx_commit: 1, as in production, waits for the disk")
        ->capture_default_str()
        ->check(CLI::Range(0, 2));
    app.add_option("--workunits", s.workunits, "with one unsent result each")->capture_default_str();
    app.add_flag("--scheduler", s.scheduler, "also what feeder and resident scheduler hand out, in turn");
    app.add_option("--slots", s.slots, "of their job array")->capture_default_str()->check(CLI::Range(10, 100000));
    app.add_option("--processes", s.processes, "of the scheduler, MIN-MAX")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        return bench(s);
    } catch (const std::exception& e) {
        fmt::print(stderr, "raw: {}\n", e.what());
        return 1;
    }
}
