// SPDX-License-Identifier: LGPL-3.0-or-later
// There and back with BOINC's own programs, while clients ask and report: what each of them saw is what the database
// holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sluice/base/project.h"
#include "tests/db/going_back/adopted_project.h"
#include "tests/db/going_back/divided_load.h"

namespace sluice::test {
namespace {

/// BOINC's own programs, with its start, stop and status, and eight clients that ask and report all the time.
class UpstreamsMove : public AdoptedProject {
  protected:
    struct Client {
        Id host = 0;
        int seqno = 0;
        std::set<std::string> held;
    };
    void SetUp() override {
        const char* prefix = std::getenv("SLUICE_UPSTREAM_PREFIX");
        if (prefix == nullptr || *prefix == '\0')
            GTEST_SKIP() << "SLUICE_UPSTREAM_PREFIX is not set (tests/allowed_skips.txt)";
        install_upstream(prefix);
    }
    /// One client's request. It asks for a job while there are enough.
    void ask_as(Client& client) {
        std::swap(client.host, host_), std::swap(client.seqno, seqno_), std::swap(client.held, held_);
        const auto began = std::chrono::steady_clock::now();
        for (const std::string& name : ask(static_cast<std::int64_t>(sent_.size()) < kJobs - 20 ? 1 : 0)) {
            EXPECT_TRUE(sent_.insert(name).second) << name << " was sent twice";
            held_.insert(name);
        }
        slowest_ = std::max(slowest_, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
        std::swap(client.host, host_), std::swap(client.seqno, seqno_), std::swap(client.held, held_);
        ASSERT_NE(last_reply_.find("</scheduler_reply>"), std::string::npos) << last_reply_;
        if (last_reply_.find("<project_is_down/>") == std::string::npos) return;
        ++told_to_wait_;
        const auto delay = elements(last_reply_, "request_delay");
        ASSERT_EQ(delay.size(), 1u) << last_reply_;
        EXPECT_LE(std::stod(delay[0]), 60) << last_reply_;
    }
    /// All clients in turn, while `goes_on`.
    void load(const std::function<bool()>& goes_on) {
        for (std::size_t turn = 0; goes_on() && !HasFatalFailure(); ++turn) ask_as(clients_[turn % clients_.size()]);
    }
    void load_of(int requests) {
        load([&] { return requests-- > 0; });
    }
    /// What a move cost the clients: how long they were told to wait, and how often.
    void move_under_load(const std::string& arguments) {
        told_to_wait_ = 0, slowest_ = 0;
        const auto move = begin(arguments);
        std::optional<std::chrono::steady_clock::time_point> first, last;
        load([&] {
            const int before = told_to_wait_;
            const bool goes_on = !eventually([&] { return !move->running(); }, .05);
            if (told_to_wait_ != seen_) {
                seen_ = before, last = std::chrono::steady_clock::now();
                if (!first) first = last;
            }
            return goes_on;
        });
        EXPECT_EQ(move->wait()->status, 0) << arguments << move->out() << move->err();
        const double away = first ? std::chrono::duration<double>(*last - *first).count() : 0;
        std::cout << arguments << ": " << told_to_wait_ << " requests were told to come back, over " << away
                  << " s; the slowest took " << slowest_ << " s\n";
    }
    void expect_what_clients_saw() {
        std::int64_t held = 0;
        for (const Client& client : clients_) {
            Sql sql("SELECT COUNT(*) FROM result WHERE server_state=4 AND hostid=");
            EXPECT_EQ(project_.count(sql << client.host), static_cast<std::int64_t>(client.held.size())) << client.host;
            held += static_cast<std::int64_t>(client.held.size());
        }
        const auto sent = static_cast<std::int64_t>(sent_.size());
        EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM result WHERE server_state=5 AND outcome=1")), sent - held);
        EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM result WHERE server_state=2")), kJobs - sent);
        EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM result")), kJobs);
        EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM host")), static_cast<std::int64_t>(clients_.size()));
    }
    std::vector<Client> clients_{8};
    int told_to_wait_ = 0, seen_ = 0;
    double slowest_ = 0;
};

TEST_F(UpstreamsMove, GoesThereAndBackUnderLoad) {
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi"), before = config();
    const RunResult started = shell("bin/start");
    ASSERT_EQ(started.status, 0) << started.out << started.err;
    work(1);
    host_ = 0, seqno_ = 0;
    clients_[0].host = 1, clients_[0].seqno = 1, clients_[0].held = std::exchange(held_, {});
    load_of(24);
    const RunResult looked = sluice("check .");
    EXPECT_EQ(looked.status, 1) << looked.out << looked.err;
    EXPECT_EQ(looked.out.find("error: "), std::string::npos) << looked.out;
    move_under_load("adopt --watch 5 .");
    load_of(24);
    expect_what_clients_saw();
    move_under_load("revert .");
    expect_old_again(old_cgi, before);
    load_of(24);
    expect_what_clients_saw();
}

/// Two feeders of two servers on one database, and requests of both sides at once.
TEST_F(UpstreamsMove, CanaryUnderLoadSendsNoJobTwice) {
    constexpr std::int64_t kMore = 1200, kAll = kJobs + kMore;
    project_.add_unsent_jobs(kMore);
    project_.db().query(Sql("ANALYZE TABLE result, workunit, app"));  // else their feeder's first query takes a minute
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi"), before = config();
    const RunResult started = shell("bin/start");
    ASSERT_EQ(started.status, 0) << started.out << started.err;
    work(1);
    const std::string their_feeder = text_of(project_.folder() / ("pid_" + short_host_name()) / "feeder.pid");
    const RunResult begun = sluice("canary --percent 50 .");
    ASSERT_EQ(begun.status, 0) << begun.out << begun.err;
    const DividedLoad load = load_by_apache(project_, kAll - 1, 16, 1);
    EXPECT_EQ(load.broken, 0);
    EXPECT_TRUE(load.twice.empty()) << load.twice.front();
    EXPECT_GT(load.sent.size(), static_cast<std::size_t>(kJobs));
    for (std::size_t i = 0; i < load.hosts.size(); ++i) {
        Sql sql("SELECT COUNT(*) FROM result WHERE server_state=4 AND hostid=");
        EXPECT_EQ(project_.count(sql << load.hosts[i]), static_cast<std::int64_t>(load.held[i].size()));
    }
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")),
              static_cast<std::int64_t>(load.sent.size() + sent_.size()));
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM result WHERE server_state=2")),
              kAll - static_cast<std::int64_t>(load.sent.size() + sent_.size()));
    const std::string log = project_.scheduler_log();
    std::size_t lost = 0;
    for (std::size_t at = 0; (at = log.find("CAN'T SEND, already sent", at)) != std::string::npos; ++at) ++lost;
    std::cout << load.sent.size() << " jobs in " << load.seconds << " s; " << lost
              << " times their scheduler found a job sent already\n"
              << shell(installed_.path() / "bin/sluice canary .").out;
    const RunResult ended = sluice("canary --stop .");
    ASSERT_EQ(ended.status, 0) << ended.out << ended.err;
    expect_old_again(old_cgi, before);
    EXPECT_FALSE(fs::exists(project_.folder() / "sluice-canary"));
    EXPECT_EQ(text_of(project_.folder() / ("pid_" + short_host_name()) / "feeder.pid"), their_feeder);
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=DATABASE() AND "
                                 "table_name LIKE 'sluice\\_%'")),
              0);
}

}  // namespace
}  // namespace sluice::test
