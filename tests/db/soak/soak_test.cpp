// SPDX-License-Identifier: LGPL-3.0-or-later
// A job's whole life, many times over, while programs are killed at random instants: real programs, a real MariaDB,
// made-up clients. SLUICE_SOAK_WORKUNITS, SLUICE_SOAK_KILLS and SLUICE_SOAK_SEED make a longer one by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <sstream>

#include "sluice/base/files.h"
#include "tests/db/soak/archived_rows.h"
#include "tests/support/paths.h"
#include "tests/support/reply_text.h"
#include "tests/support/request_text.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

int parameter(const char* name, int usual) {
    const char* text = std::getenv(name);
    return text ? std::atoi(text) : usual;
}

/// A volunteer's host: keeps its reports until they are acknowledged, and its jobs until they are reported.
struct MadeUpClient {
    Id hostid = 0;
    int seqno = 0;
    std::set<std::string> jobs;
};

class Soak : public testing::Test {
  protected:
    static constexpr int kPerTurn = 60, kHosts = 3;

    Soak()
        : project_(PrivateMariaDb::shared(), "soak", "<resend_lost_results>1</resend_lost_results>"),
          random_(static_cast<unsigned>(parameter("SLUICE_SOAK_SEED", 1))) {
        project_.store();
        project_.write_templates(1000);
        write_file_atomically(project_.folder() / "bin/take", "#!/bin/sh\nexit 0\n");
        fs::permissions(project_.folder() / "bin/take", fs::perms(0755));
        for (int i = 0; i < kHosts; ++i) clients_.emplace_back();
    }
    int draw(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

    /// Workunits with an input file each; the quorum of every second one is 2. Credit differs from call to call.
    void create(int n) {
        const double credit = draw(20) + 0.5;
        std::string lines;
        for (int i = 0; i < n; ++i, ++created_) {
            const std::string name = "in_" + std::to_string(created_);
            project_.stage_input(name);
            const int quorum = 1 + created_ % 2;
            lines += "--wu_name wu_" + std::to_string(created_) + " --min_quorum " + std::to_string(quorum) + " " +
                     name + "\n";
            granted_ += quorum * credit;
        }
        RunOptions options = project_.run_options();
        options.stdin_text = lines;
        const RunResult r =
            run({binary_dir() + "/bin/create_work", "--appname", "up", "--credit", std::to_string(credit), "--stdin"},
                options);
        ASSERT_EQ(r.status, 0) << r.err;
    }
    /// Runs a program to its end. If kills are left, one in `of` ends at a random instant.
    std::optional<RunResult> end(const std::vector<std::string>& words, const RunOptions& options, int of) {
        const bool disturbed = kills_left_ > 0 && draw(of) == 0;
        Subprocess program(words, options);
        if (disturbed) {
            program.wait(draw(60) / 1000.0);
            if (program.running()) program.send_signal(SIGKILL);
        }
        auto ended = program.wait(120);
        if (ended && ended->signal == SIGKILL) --kills_left_, ++killed_[fs::path(words[0]).filename().string()];
        return ended;
    }
    void pass(const std::string& name, std::vector<std::string> words) {
        words.insert(words.begin(), {binary_dir() + "/bin/" + name, "--one_pass"});
        const auto ended = end(words, project_.run_options(), 2);
        ASSERT_TRUE(ended) << name << " does not end";
        if (ended->signal == SIGKILL) return;
        const std::string errors = unexpected_errors(ended->err);
        EXPECT_EQ(ended->status, 0) << name << ": " << errors;
        EXPECT_EQ(errors, "") << name;
    }
    static std::string unexpected_errors(const std::string& log) {
        std::istringstream lines(log);
        std::string found;
        for (std::string line; std::getline(lines, line);)
            if (line.find("[CRITICAL]") != line.npos) found += line + "\n";
        return found;
    }
    /// The feeder fills the array before it is ready. One that sleeps while jobs wait is started anew: nothing here
    /// depends on how long it sleeps.
    void feed() {
        if (feeder_ && (sent_ == 0 || (kills_left_ > 0 && draw(3) == 0))) {
            const bool killed = kills_left_ > 0 && draw(2) == 0;
            feeder_->send_signal(killed ? SIGKILL : SIGTERM);
            ASSERT_TRUE(feeder_->wait(60)) << feeder_->err();
            EXPECT_EQ(unexpected_errors(feeder_->err()), "");
            feeder_.reset();
            if (killed) --kills_left_, ++killed_["feeder"];
        }
        sent_ = 0;
        if (feeder_) return;
        feeder_.emplace(std::vector<std::string>{binary_dir() + "/bin/feeder"}, project_.run_options());
        ASSERT_TRUE(feeder_->wait_for_output("ready")) << feeder_->err();
    }
    /// Computes and uploads what it has, reports it and asks for more.
    void serve(MadeUpClient& client) {
        RequestText r;
        r.hostid = client.hostid, r.seqno = ++client.seqno, r.work_seconds = 1e6;
        const auto n = std::to_string(&client - clients_.data());
        r.domain_name = "box" + n, r.cpid = "cpid-of-box" + n;
        for (const std::string& job : client.jobs) r.reported.push_back(job);
        const std::string text = r.text();
        const auto ended = end({binary_dir() + "/cgi-bin/cgi"}, project_.web_request(text), 4);
        ASSERT_TRUE(ended) << "the scheduler does not end";
        if (ended->signal == SIGKILL) return;  // it asks again, as if nothing had happened
        take({*ended}, client);
    }
    void take(const ReplyText& reply, MadeUpClient& client) {
        ASSERT_EQ(reply.malformed(), "");
        if (client.hostid == 0) client.hostid = std::atoll(reply.value("hostid").c_str());
        const std::vector<std::string> acknowledged = elements(reply.text(), "result_ack");
        for (const std::string& ack : acknowledged) client.jobs.erase(elements(ack, "name").at(0));
        EXPECT_TRUE(client.jobs.empty()) << reply.text();
        for (const std::string& name : reply.result_names()) {
            client.jobs.insert(name);
            ++sent_;
            Sql sql("SELECT xml_doc_in FROM result WHERE name=");
            const std::string xml = rows_of(project_.db(), sql << SqlText{name}, 1).at(0).at(0);
            for (const std::string& file : elements(xml.substr(0, xml.find("</file_info>")), "name")) {
                fs::create_directories(project_.output_file(file).parent_path());
                write_file_atomically(project_.output_file(file), "the same output");
            }
        }
    }
    /// All ids that there ever were, before db_purge takes some.
    void see_rows() {
        for (const auto& row : rows_of(project_.db(), Sql("SELECT id FROM workunit"), 1))
            workunits_.insert(std::stoll(row[0]));
        for (const auto& row : rows_of(project_.db(), Sql("SELECT id FROM result"), 1))
            results_.insert(std::stoll(row[0]));
    }
    void expect_live_files() {
        const auto live = rows_of(project_.db(), Sql("SELECT name FROM workunit WHERE file_delete_state=0"), 1);
        for (const auto& row : live) EXPECT_TRUE(fs::exists(project_.input_file("in_" + row[0].substr(3)))) << row[0];
        const auto over =
            rows_of(project_.db(),
                    Sql("SELECT xml_doc_in FROM result WHERE file_delete_state=0 AND server_state=5 AND outcome=1"), 1);
        for (const auto& row : over)
            for (const std::string& file : elements(row[0].substr(0, row[0].find("</file_info>")), "name"))
                EXPECT_TRUE(fs::exists(project_.output_file(file))) << file;
    }
    void turn() {
        pass("transitioner", {});
        feed();
        for (MadeUpClient& client : clients_) serve(client);
        pass("sample_bitwise_validator", {"--app", "up", "--credit_from_wu"});
        pass("script_assimilator", {"--app", "up", "--script", "take wu_name"});
        pass("file_deleter", {});
        expect_live_files();
        see_rows();
        pass("db_purge", {"--max_wu_per_file", "50"});
        most_rows_ = std::max(most_rows_, project_.count(Sql("SELECT COUNT(*) FROM result")));
    }
    fs::path archives() const { return project_.folder() / "archives"; }

    TestProject project_;
    std::mt19937 random_;
    std::vector<MadeUpClient> clients_;
    std::optional<Subprocess> feeder_;
    std::set<Id> workunits_, results_;
    std::map<std::string, int> killed_;
    std::int64_t most_rows_ = 0;
    int created_ = 0, sent_ = 0, kills_left_ = parameter("SLUICE_SOAK_KILLS", 10);
    double granted_ = 0;
};

TEST_F(Soak, KillsLoseNoFileRowOrCredit) {
    const int wanted = parameter("SLUICE_SOAK_WORKUNITS", 300), most_turns = wanted / kPerTurn * 4 + 100;
    int turns = 0;
    do {
        if (created_ < wanted) create(std::min(kPerTurn, wanted - created_));
        turn();
        if (HasFatalFailure() || ++turns > most_turns) break;
    } while (created_ < wanted || kills_left_ > 0 || project_.count(Sql("SELECT COUNT(*) FROM workunit")) > 0);
    std::cout << turns << " turns, at most " << most_rows_ << " rows in result\n";
    for (const auto& [name, times] : killed_) std::cout << "killed " << times << " times: " << name << '\n';
    pass("db_purge", {"--max_wu_per_file", "50"});
    EXPECT_EQ(kills_left_, 0);
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM workunit")), 0) << "work is left";
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM result")), 0);
    EXPECT_EQ(static_cast<int>(workunits_.size()), created_);
    EXPECT_EQ(archived_ids(archives(), "workunit"), (std::multiset<Id>(workunits_.begin(), workunits_.end())));
    EXPECT_EQ(archived_ids(archives(), "result"), (std::multiset<Id>(results_.begin(), results_.end())));
    EXPECT_EQ(size_of(project_.folder() / "upload").files, 0);
    EXPECT_EQ(size_of(project_.folder() / "download").files, 0);
    for (const SqlLiteral table : {SqlLiteral("user"), SqlLiteral("host")}) {
        Sql sql("SELECT ROUND(SUM(total_credit)*10) FROM ");
        EXPECT_EQ(project_.count(sql << table), static_cast<std::int64_t>(granted_ * 10 + 0.5));
    }
}

}  // namespace
}  // namespace sluice::test
