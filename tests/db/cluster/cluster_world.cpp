// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/db/cluster/cluster_world.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/support/database_rows.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

std::string key_of(Id user) { return user == 1 ? kTestKey : fmt::format("{:032d}", user); }

std::string socket_of(TestProject& machine) { return (machine.folder() / "scheduler").string(); }

void add_people(FakeDb& rows) {
    for (Id id = 2; id <= ClusterWorld::kUsers; ++id) {
        User user = rows.users[1];
        user.id = id;
        user.name = fmt::format("user{}", id);
        user.email_addr = user.name + "@example.org";
        user.authenticator = key_of(id);
        user.cross_project_id = fmt::format("{:032x}", id);
        rows.users[id] = user;
    }
    for (Id id = 1; id <= ClusterWorld::kHosts; ++id) {
        Host host;
        host.id = id;
        host.userid = ClusterWorld::user_of(id);
        host.create_time = host.rpc_time = std::time(nullptr) - 100000;
        host.p_ncpus = 4;
        host.domain_name = fmt::format("host{}", id);
        host.host_cpid = host.domain_name + "cpid";
        host.os_name = "Linux";
        host.p_vendor = "GenuineIntel";
        host.p_model = "Xeon";
        host.m_nbytes = 8e9;
        rows.hosts[id] = host;
    }
}

int count(const std::string& text, const std::string& part) {
    int n = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
    return n;
}

}  // namespace

GaleraCluster& shared_cluster() {
    static GaleraCluster cluster;
    return cluster;
}

int kills_wanted(int otherwise) {
    const char* text = std::getenv("SLUICE_CLUSTER_KILLS");
    return text == nullptr ? otherwise : std::max(1, std::atoi(text));
}

ClusterWorld::ClusterWorld(const std::string& options) {
    static int projects = 0;
    GaleraCluster& cluster = shared_cluster();
    machines_[0] = std::make_unique<TestProject>(cluster.node(0), fmt::format("cluster{}", ++projects), options);
    add_people(machine(0).rows());
    machine(0).store();
    for (int i = 1; i < kMachines; ++i)
        machines_[static_cast<std::size_t>(i)] = std::make_unique<TestProject>(cluster.node(i), machine(0));
}

ClusterWorld::~ClusterWorld() {
    for (auto& scheduler : schedulers_)
        if (scheduler && scheduler->running()) {
            scheduler->send_signal(SIGTERM);
            scheduler->wait();
        }
}

void ClusterWorld::add_jobs(int workunits, int instances) {
    Database& db = machine(0).db();
    FakeDb rows;
    const Id first = number_of(db, Sql("SELECT COALESCE(MAX(id),0) FROM workunit"));
    for (Id n = 1; n <= workunits; ++n) {
        Workunit w;
        w.id = first + n;
        w.appid = 1;
        w.name = fmt::format("wu_{}", w.id);
        w.xml_doc = "<workunit>\n<command_line>\nx\n</command_line>\n</workunit>\n";
        w.rsc_fpops_est = 1e12;
        w.rsc_fpops_bound = 1e15;
        w.rsc_memory_bound = w.rsc_disk_bound = 1e7;
        w.delay_bound = 604800;
        w.min_quorum = w.target_nresults = instances;
        w.max_error_results = w.max_total_results = w.max_success_results = 2 * instances;
        w.transition_time = kNever;
        rows.workunits[w.id] = w;
        for (int k = 0; k < instances; ++k) {
            Result r;
            r.id = (w.id - 1) * instances + k + 1;
            r.workunitid = w.id;
            r.appid = 1;
            r.name = fmt::format("{}_{}", w.name, k);
            r.server_state = ServerState::kUnsent;
            r.create_time = std::time(nullptr) + 3600;  // fresh for the whole test
            r.xml_doc_in = "<result>\n</result>\n";
            rows.results[r.id] = r;
        }
    }
    store_rows(db, rows);
    for (int i = 0; i < kMachines; ++i) number(i, Sql("SELECT COUNT(*) FROM result"));
}

void ClusterWorld::start_scheduler(int i) {
    TestProject& project = machine(i);
    auto& scheduler = schedulers_.at(static_cast<std::size_t>(i));
    scheduler = std::make_unique<Subprocess>(
        std::vector<std::string>{binary_dir() + "/bin/scheduler", "--listen", socket_of(project), "--processes", "4"},
        project.run_options());
    if (!scheduler->wait_for_output("listening on")) throw std::runtime_error("scheduler: " + scheduler->err());
}

void ClusterWorld::start_all(const std::vector<std::string>& feeder_args) {
    for (int i = 0; i < machines_asked; ++i) {
        start_feeder(i, feeder_args);
        start_scheduler(i);
    }
}

std::set<Id> ClusterWorld::offered(int i) {
    std::set<Id> ids;
    std::istringstream lines(machine(i).run_program("show_shmem").out);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        Id slot = 0, workunit = 0, result = 0;
        std::string app;
        if (words >> slot >> app >> workunit >> result && app == "up") ids.insert(result);
    }
    return ids;
}

std::string ClusterWorld::reports(Id host) {
    std::string all;
    const std::lock_guard lock(noting_);
    for (const std::string& name : to_report_[host])
        all += "<result>\n<name>" + name +
               "</name>\n<final_cpu_time>1</final_cpu_time>\n<final_elapsed_time>2</final_elapsed_time>\n"
               "<exit_status>0</exit_status>\n<state>5</state>\n</result>\n";
    return all;
}

int ClusterWorld::ask(int i, Id host, int jobs) {
    int seqno = 0;
    {
        const std::lock_guard lock(noting_);
        seqno = ++seqno_[host];
    }
    // A job takes 1000 s; 4 processors.
    std::string body = work_request(host, seqno, jobs * 1000 - 1, reports(host), 4, fmt::format("host{}", host));
    body.replace(body.find(kTestKey), sizeof kTestKey - 1, key_of(user_of(host)));
    std::string reply;
    try {
        reply = FastcgiClient(socket_of(machine(i)))
                    .request({{"REMOTE_ADDR", "127.0.0.1"},
                              {"REQUEST_METHOD", "POST"},
                              {"CONTENT_LENGTH", std::to_string(body.size())}},
                             body);
    } catch (const std::exception&) {
        return -1;
    }
    if (reply.find("</scheduler_reply>") == std::string::npos || reply.find("<project_is_down/>") != std::string::npos)
        return -1;
    return note(host, reply);
}

/// The number of jobs in it.
int ClusterWorld::note(Id host, const std::string& reply) {
    int got = 0;
    const std::lock_guard lock(noting_);
    const auto now = SteadyClock::now();
    if (last_reply_ < now)
        longest_gap_ = std::max(longest_gap_, std::chrono::duration<double>(now - last_reply_).count());
    last_reply_ = now;
    for (const std::string& acknowledged : elements(reply, "result_ack"))
        for (const std::string& name : elements(acknowledged, "name")) to_report_[host].erase(name);
    for (const std::string& result : elements(reply, "result")) {
        const auto names = elements(result, "name");
        if (names.empty()) continue;
        ++got;
        if (!handed_out_.emplace(names[0], host).second) ++twice_;
        if (reporting) to_report_[host].insert(names[0]);
    }
    return got;
}

void ClusterWorld::hand_out_all(int jobs_a_request, const std::function<bool()>& until) {
    std::atomic<bool> over{false};
    std::vector<std::thread> hosts;
    for (Id host = 1; host <= kHosts; ++host)
        hosts.emplace_back([&, host] {
            // The two hosts of a user always ask different machines.
            for (Id turn = host / kUsers + host; !over; ++turn) {
                const bool got = ask(static_cast<int>(turn % machines_asked), host, jobs_a_request) > 0;
                std::this_thread::sleep_for(std::chrono::milliseconds(got ? rest : std::max(rest, 20)));
            }
        });
    const auto done = [&] {
        if (until) return until();
        return none_unsent();
    };
    eventually(
        [&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            return done();
        },
        600);
    over = true;
    for (std::thread& host : hosts) host.join();
}

bool ClusterWorld::none_unsent() {
    try {
        return number_of(machine(0).db(), Sql("SELECT COUNT(*) FROM result WHERE server_state=2")) == 0;
    } catch (const DbError&) {
        return false;
    }
}

void ClusterWorld::kill_node(int i) {
    shared_cluster().kill(i);
    machine(i).db().disconnect();
}

void ClusterWorld::expect_nothing_lost_or_doubled() {
    EXPECT_EQ(handed_out_twice(), 0);
    for (int i = 0; i < kMachines; ++i) {
        SCOPED_TRACE(i);
        EXPECT_EQ(checksums(i), checksums(0)) << "the nodes differ";
        EXPECT_EQ(number(i, Sql("SELECT COUNT(*) FROM (SELECT 1 FROM result WHERE server_state>=4 GROUP BY "
                                "workunitid,userid HAVING COUNT(*)>1) t")),
                  0)
            << "a user has two instances of a workunit";
    }
    std::map<std::string, Id> stored;
    for (const auto& row : rows_of(machine(1).db(), Sql("SELECT name,hostid FROM result WHERE server_state>=4"), 2))
        stored[row[0]] = std::stoll(row[1]);
    EXPECT_EQ(handed_out_, stored);
}

std::int64_t ClusterWorld::number(int i, const Sql& query) {
    Database& db = machine(i).db();
    db.execute(Sql("SET SESSION wsrep_sync_wait=1"));
    return number_of(db, query);
}

std::vector<std::vector<std::string>> ClusterWorld::checksums(int i) {
    number(i, Sql("SELECT 1"));
    return rows_of(machine(i).db(), Sql("CHECKSUM TABLE workunit, result, host, host_app_version, user"), 2);
}

int ClusterWorld::lost_claims() const { return count(logs(), "can't send: changed by another process meanwhile"); }

std::string ClusterWorld::logs() const {
    std::string all;
    for (const auto& machine : machines_) all += machine->scheduler_log();
    return all;
}

}  // namespace sluice::test
