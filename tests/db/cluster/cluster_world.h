// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project on three machines: each has a node of one Galera cluster, a feeder and a resident scheduler, and is asked
// for jobs as clients would. Users 1 … kUsers with two hosts each: user u has hosts u and kUsers + u.
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/fastcgi_client.h"
#include "tests/support/galera_cluster.h"
#include "tests/support/test_project.h"

namespace sluice::test {

/// One cluster a test program, started on first use.
GaleraCluster& shared_cluster();
/// How often a test is to kill a node: $SLUICE_CLUSTER_KILLS, or `otherwise`.
int kills_wanted(int otherwise);

class ClusterWorld {
  public:
    static constexpr int kMachines = GaleraCluster::kNodes, kUsers = 8, kHosts = 2 * kUsers;
    /// `options`: of config.xml. No programs run yet.
    explicit ClusterWorld(const std::string& options = "");
    ~ClusterWorld();

    TestProject& machine(int i) { return *machines_.at(static_cast<std::size_t>(i)); }
    /// Unsent instances of new workunits of app 1; all nodes have them when it returns.
    void add_jobs(int workunits, int instances);
    Subprocess& start_feeder(int i, const std::vector<std::string>& args = {}) { return machine(i).start_feeder(args); }
    /// Results in the array of machine `i`.
    std::set<Id> offered(int i);
    void start_scheduler(int i);
    /// A feeder and a scheduler on each machine that is asked.
    void start_all(const std::vector<std::string>& feeder_args = {});
    /// A host asks machine `i` for `jobs` jobs. The ids of the workunits' instances that it got are noted as handed
    /// out; how many. -1: no reply that a client could use (the project is down, or nobody answered).
    int ask(int i, Id host, int jobs);
    /// Every host asks, again and again, each with its own thread, at machines in turn, until no job is UNSENT or
    /// `until` says so.
    void hand_out_all(int jobs_a_request, const std::function<bool()>& until = {});

    /// Names of results by host, as clients were told.
    const std::map<std::string, Id>& handed_out() const { return handed_out_; }
    std::size_t told() {
        const std::lock_guard lock(noting_);
        return handed_out_.size();
    }
    int handed_out_twice() const { return twice_; }
    /// Jobs that hosts have and the project has not taken back yet; where they are to report.
    std::size_t unreported() {
        const std::lock_guard lock(noting_);
        std::size_t all = 0;
        for (const auto& [host, names] : to_report_) all += names.size();
        return all;
    }
    /// The longest time in which nobody got a reply that a client could use, in s.
    double longest_gap() const { return longest_gap_; }
    void kill_node(int i);
    bool none_unsent();
    void restart_node(int i) { shared_cluster().restart(i); }
    /// Whatever happened, what clients were told is what the database says, on every node. Fails the test if not.
    void expect_nothing_lost_or_doubled();
    /// Hosts report what they got with a later request, again and again until that is acknowledged.
    bool reporting = false;
    /// A host's rest after each request, in ms.
    int rest = 0;
    /// Only the first so many machines are asked for jobs.
    int machines_asked = kMachines;
    /// What one node says now that it knows all that the others have committed before.
    std::int64_t number(int i, const Sql& query);
    /// CHECKSUM TABLE of what a scheduler writes, on one node.
    std::vector<std::vector<std::string>> checksums(int i);
    /// In the logs of all schedulers: jobs that another one had sent when this one was about to.
    int lost_claims() const;
    std::string logs() const;
    static Id user_of(Id host) { return (host - 1) % kUsers + 1; }

  private:
    std::array<std::unique_ptr<TestProject>, kMachines> machines_;
    std::array<std::unique_ptr<Subprocess>, kMachines> schedulers_;
    std::mutex noting_;
    using SteadyClock = std::chrono::steady_clock;
    std::map<std::string, Id> handed_out_;
    SteadyClock::time_point last_reply_ = SteadyClock::time_point::max();
    double longest_gap_ = 0;
    std::map<Id, std::set<std::string>> to_report_;  ///< by host
    int twice_ = 0;
    std::map<Id, int> seqno_;
    std::string reports(Id host);
    int note(Id host, const std::string& reply);
};

}  // namespace sluice::test
