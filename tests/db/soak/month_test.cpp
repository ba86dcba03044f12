// SPDX-License-Identifier: LGPL-3.0-or-later
// A month of a project's life: every daemon and task of a new project on, real programs, a real MariaDB, a clock that
// is moved, and volunteers that are made up. Programs and the database's server are killed at random instants. What
// every run does is one day of it. By hand, docs/soak.md:
//   SLUICE_SOAK_DAYS=30 SLUICE_SOAK_WORKUNITS=100000 SLUICE_SOAK_KILLS=200 SLUICE_SOAK_TABLE=month.tsv
//   tests/soak_month_test
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iostream>

#include "sluice/base/files.h"
#include "tests/db/soak/archived_rows.h"
#include "tests/db/soak/month_clients.h"
#include "tests/db/soak/month_samples.h"

namespace sluice::test {
namespace {

constexpr double kDay = 86400;

/// What a result of this workunit is worth; numbers that add up exactly.
double credit_of(const std::string& workunit) {
    const auto at = workunit.find("_t");
    return 20 + std::atoi(workunit.c_str() + at + 2) % 64 / 8.0;
}

std::string last_words(const std::string& log) {
    return log.substr(log.size() - std::min<std::size_t>(log.size(), 3000));
}

class Month : public testing::Test {
  protected:
    Month()
        : plan_(MonthPlan::from_environment()),
          project_(plan_),
          clients_(project_, std::clamp(plan_.workunits / plan_.days / 60, 12, 60), project_.clock().now() + 3600),
          samples_(project_),
          logs_(project_.log_folder()) {
        for (int i = 0; i < plan_.kills; ++i) kill_at_.insert(project_.draw(plan_.days * plan_.steps));
    }

    /// Every name that there is stands in created_ before its row can be there.
    void create(const std::string& app, std::vector<std::string> names, double credit, const std::string& batch = "") {
        for (const std::string& name : names) {
            created_.insert(name);
            const fs::path file = project_.input("in_" + name);
            fs::create_directories(file.parent_path());
            write_file_atomically(file, "input of " + name + std::string(500, '.'));
        }
        std::vector<std::string> words{"create_work",
                                       "--appname",
                                       app,
                                       "--credit",
                                       fmt::format("{}", credit),
                                       "--rsc_fpops_est",
                                       "9e11",
                                       "--rsc_fpops_bound",
                                       "1e15",
                                       "--delay_bound",
                                       "172800",
                                       "--max_error_results",
                                       "3",
                                       "--max_total_results",
                                       "12",
                                       "--max_success_results",
                                       "8",
                                       "--stdin"};
        if (!batch.empty()) words.insert(words.end() - 1, {"--batch", batch});
        while (!names.empty()) {
            std::string lines;
            for (const std::string& name : names)
                lines += fmt::format("--wu_name {0} --min_quorum {1} --target_nresults {1} {2} in_{0}\n", name,
                                     name.find("_q2_") != name.npos ? 2 : 1,
                                     app == "sized" ? fmt::format("--size_class {}", name.back() % 2) : "");
            const auto done = project_.run_program(words, lines);
            if (done) {
                ASSERT_EQ(done->status, 0) << done->err << "\n" << last_words(project_.server().log());
                return;
            }
            std::erase_if(names, [&](const std::string& name) {  // killed: those that are not there are made again
                Sql sql("SELECT COUNT(*) FROM workunit WHERE name=");
                return project_.count(sql << SqlText{name}) > 0;
            });
        }
    }
    void create_singles(int step, int n) {
        std::vector<std::string> names;
        for (int i = 0; i < n; ++i)
            names.push_back(
                fmt::format("{}_t{}_q{}_{}", project_.draw(300) == 0 ? "bad" : "wu", step, 1 + project_.draw(2), i));
        if (n > 0) create("plain", names, credit_of(names[0]));
    }
    void create_batch(int step, int n) {
        const auto made = project_.run_program({"create_batch", "--app_name", "sized", "--user_id", "1"});
        ASSERT_TRUE(made && made->status == 0) << made->err;
        const std::string id = made->out.substr(0, made->out.find('\n'));
        std::vector<std::string> names;
        for (int i = 0; i < n; ++i) names.push_back(fmt::format("job_t{}_q{}_{}", step, 1 + project_.draw(2), i));
        create("sized", names, credit_of(names[0]), id);
        const auto enabled = project_.run_program({"create_batch", "--enable", id});
        ASSERT_TRUE(enabled && enabled->status == 0) << enabled->err;
    }

    /// The clock waits for the programs: in real time they would have hours for what is left to do.
    void wait_for_programs() {
        const double patience = real_seconds() + 600;  // a machine may be busy with other things
        for (int i = 0;; ++i) {
            Sql sql("SELECT (SELECT COUNT(*) FROM workunit WHERE transition_time<");
            sql << static_cast<std::int64_t>(project_.clock().now() - 7200)
                << ")+(SELECT COUNT(*) FROM workunit WHERE need_validate=1)/4+(SELECT COUNT(*) FROM workunit WHERE "
                   "assimilate_state=1)/4+(SELECT COUNT(*) FROM workunit WHERE file_delete_state=1)/4";
            if (project_.count(sql) <= 100 + plan_.workunits / plan_.days / 10) return;
            ASSERT_LT(real_seconds(), patience) << "work is left undone";
            ::usleep(100000);
            if (i % 10 == 9) project_.cron();
        }
    }
    void step(int number, bool work) {
        const double begin = real_seconds();
        const auto part = [&] { project_.clock().advance(kDay / plan_.steps / 6); };
        if (work) {
            const int total = plan_.workunits, steps = plan_.days * plan_.steps;
            const auto until = [&](int s) { return static_cast<std::int64_t>(total) * s / steps; };
            const int n = static_cast<int>(until(number + 1) - until(number));
            create_singles(number, n * 6 / 7), carry_ += n - n * 6 / 7;
            if (number % plan_.steps == plan_.steps / 2) create_batch(number, std::exchange(carry_, 0));
            for (auto [at, end] = kill_at_.equal_range(number); at != end; ++at) project_.kill_one();
        }
        for (int i = 0; i < 3; ++i) part(), clients_.serve();
        // The minute that batches waits is real, hours of the clock; db_purge takes no job before the batch is over.
        if (!work) project_.end_daemon("batches");  // cron starts it anew
        project_.cron(), part();
        clients_.serve(), part(), logs_.look();
        logs_.read("printed", project_.take_printed());
        wait_for_programs(), part();
        if (number % 6 == 5) look();
        if (number % plan_.steps == plan_.steps - 1) end_day(number / plan_.steps + 1);
        const double left = plan_.pause / 4 - (real_seconds() - begin);
        if (left > 0) ::usleep(static_cast<useconds_t>(left * 1e6));
    }
    void end_day(int day) {
        samples_.end_day();
        note_messages();
        const auto rows = [&](const char* name) {
            const auto& today = samples_.days().back();
            return today.contains(name) ? today.at(name) : 0;
        };
        std::cout << fmt::format(
                         "day {} at {:.0f} s: {} workunits made, {:.0f} and {:.0f} rows of workunit and result, "
                         "{} requests, {} kills\n",
                         day, real_seconds() - begin_, created_.size(), rows("rows workunit"), rows("rows result"),
                         clients_.requests(), killed())
                  << std::flush;
        if (const char* file = std::getenv("SLUICE_SOAK_TABLE")) std::ofstream(file) << samples_.table();
        for (const auto& [line, times] : logs_.unexpected())
            if (told_.insert(line).second) std::cout << "unexpected: " << line << std::endl;
    }
    /// update_stats removes what was handled a month ago.
    void note_messages() {
        Sql sql("SELECT hostid, id FROM msg_from_host WHERE variety='credit' AND id>");
        for (const auto& row : rows_of(project_.db(), sql << last_message_ << " ORDER BY id", 2)) {
            ++credit_messages_[std::stoll(row[0])];
            last_message_ = std::stoll(row[1]);
        }
    }
    int killed() const {
        int n = 0;
        for (const auto& [name, times] : project_.killed()) n += times;
        return n;
    }

    void look() {
        samples_.look_at_processes();
        see_rows("workunit", workunits_), see_rows("result", results_);
        expect_live_files();
    }
    /// Rows stay for a day and more; ids that are not committed in order are seen by the next look.
    void see_rows(const std::string& table, std::set<Id>& seen) {
        Sql sql("SELECT id FROM ");
        sql.identifier(table) << " WHERE id>" << (seen.empty() ? 0 : *seen.rbegin() - 5000);
        for (const auto& row : rows_of(project_.db(), sql, 1)) seen.insert(std::stoll(row[0]));
    }
    void expect_live_files() {
        const auto inputs = rows_of(project_.db(), Sql("SELECT id,name FROM workunit WHERE file_delete_state=0"), 2);
        for (const auto& row : inputs) {
            if (fs::exists(project_.input("in_" + row[1]))) continue;
            Sql sql("SELECT COUNT(*) FROM workunit WHERE file_delete_state=0 AND id=");  // it may be over by now
            EXPECT_EQ(project_.count(sql << std::stoll(row[0])), 0) << row[1] << " has lost its input file";
        }
        const SqlLiteral kept(" FROM result WHERE file_delete_state=0 AND server_state=5 AND outcome=1");
        Sql all("SELECT id,xml_doc_in");
        for (const auto& row : rows_of(project_.db(), all << kept, 2)) {
            const std::string name = field(row[1], "name");
            if (fs::exists(project_.output(name))) continue;
            Sql sql("SELECT COUNT(*)");
            sql << kept << " AND id=" << std::stoll(row[0]);
            EXPECT_EQ(project_.count(sql), 0) << name << " is gone";
        }
    }

    void expect_archives();
    void expect_credit();
    void expect_assimilated();
    void expect_bounds();

    MonthPlan plan_;
    MonthProject project_;
    MonthClients clients_;
    MonthSamples samples_;
    LogWatch logs_;
    std::multiset<int> kill_at_;
    std::set<std::string> created_, told_;
    std::set<Id> workunits_, results_;
    std::map<Id, double> credit_;           ///< of hosts, by the archives and the clients
    std::map<Id, double> credit_messages_;  ///< of hosts, how many
    Id last_message_ = 0;
    const double begin_ = real_seconds();
    int carry_ = 0;
};

void Month::expect_archives() {
    std::multiset<std::string> names;
    std::multiset<Id> workunits, results;
    each_archived(project_.folder() / "archives", "workunit", [&](const std::string& record) {
        names.insert(field(record, "name"));
        workunits.insert(std::stoll(field(record, "id")));
    });
    std::set<std::string> valid;
    each_archived(project_.folder() / "archives", "result", [&](const std::string& record) {
        results.insert(std::stoll(field(record, "id")));
        const std::string name = field(record, "name");
        const double granted = std::atof(field(record, "granted_credit").c_str());
        if (field(record, "validate_state") != "1") {
            EXPECT_EQ(granted, 0) << name;
            return;
        }
        valid.insert(name);
        EXPECT_TRUE(clients_.right().contains(name)) << name << " is valid";
        EXPECT_EQ(granted, credit_of(workunit_of(name))) << name;
        credit_[std::stoll(field(record, "hostid"))] += credit_of(workunit_of(name));
    });
    EXPECT_TRUE(names == std::multiset<std::string>(created_.begin(), created_.end()))
        << names.size() << " workunits in archives, " << created_.size() << " were made";
    // On a busy machine a row can come and go between two looks: each that was seen is there, and none twice.
    const auto expect_once = [](const std::multiset<Id>& archived, const std::set<Id>& seen, const char* what) {
        EXPECT_EQ(std::set<Id>(archived.begin(), archived.end()).size(), archived.size()) << what << " twice";
        for (const Id id : seen) EXPECT_TRUE(archived.contains(id)) << what << " " << id << " is in no archive";
    };
    expect_once(workunits, {workunits_.begin(), workunits_.end()}, "workunit");
    expect_once(results, {results_.begin(), results_.end()}, "result");
    for (const std::string& name : clients_.right_in_time())
        EXPECT_TRUE(valid.contains(name)) << name << " got nothing";
}

/// 200 a day for a host of 1 GFLOPS: 1 for each message of 432 s. A message whose answer was lost may be there twice.
void Month::expect_credit() {
    note_messages();
    std::map<Id, double>& messages = credit_messages_;
    for (const auto& [host, runtime] : clients_.told_runtime()) EXPECT_GE(messages[host], runtime / 432) << host;
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM msg_from_host WHERE handled=0")), 0);
    double sum = 0;
    std::map<int, double> users;
    for (const MadeUpHost& host : clients_.hosts()) {
        const double expected = credit_[host.id] + messages[host.id];
        Sql sql("SELECT total_credit FROM host WHERE id=");
        EXPECT_NEAR(std::stod(rows_of(project_.db(), sql << host.id, 1).at(0).at(0)), expected, 1e-6) << host.id;
        users[host.user] += expected, sum += expected;
    }
    for (const auto& [user, expected] : users) {
        Sql sql("SELECT total_credit FROM user WHERE id=");
        EXPECT_NEAR(std::stod(rows_of(project_.db(), sql << Id{user}, 1).at(0).at(0)), expected, 1e-6) << user;
    }
    EXPECT_NEAR(std::stod(rows_of(project_.db(), Sql("SELECT SUM(total_credit) FROM team"), 1).at(0).at(0)), sum, 1e-5);
    std::cout << fmt::format("credit {:.1f} for {} right results\n", sum, clients_.right().size());
}

void Month::expect_assimilated() {
    std::set<std::string> taken;
    std::istringstream lines(read_file(project_.folder() / "../taken").value_or(""));
    for (std::string line; std::getline(lines, line);) {
        const bool failed = line.starts_with("error ");
        EXPECT_EQ(failed, line.find("bad_") != line.npos) << line;
        taken.insert(failed ? line.substr(6) : line);
    }
    EXPECT_TRUE(taken == created_) << taken.size() << " of " << created_.size() << " workunits were assimilated";
}

void Month::expect_bounds() {
    if (plan_.days >= 20) {
        EXPECT_THAT(samples_.growing(static_cast<std::size_t>(plan_.days)), testing::IsEmpty());
    }
    const std::vector<std::pair<std::string, double>> bounds{
        {"KB ", 150e3},
        {"open files ", 100},
        {"disk logs", 40 * 4 * plan_.log_mb * 1.5 * (1 << 20)},
        // Jobs in progress: what three days make, two for each workunit.
        {"rows sluice_plan_job", 6.0 * plan_.workunits / plan_.days + 1000}};
    for (const DaySample& day : samples_.days())
        for (const auto& [name, value] : day)
            for (const auto& [beginning, bound] : bounds)
                EXPECT_FALSE(name.starts_with(beginning) && value > bound) << name << ": " << value;
}

TEST_F(Month, EveryProgramKeepsProjectWholeAndBounded) {
    std::cout << fmt::format("{} days, {} workunits, {} hosts, {} kills, seed {}\n", plan_.days, plan_.workunits,
                             clients_.hosts().size(), plan_.kills, plan_.seed);
    const int steps = plan_.days * plan_.steps,
              most = steps + static_cast<int>((plan_.keep_days + 4 * plan_.deadline_days + 3) * plan_.steps);
    int number = 0, spared = 0;
    for (; number < most && !HasFatalFailure(); ++number) {
        if (number == steps) spared = project_.disarm();
        if (number >= steps && project_.count(Sql("SELECT COUNT(*) FROM workunit")) == 0) break;
        step(number, number < steps);
    }
    project_.stop();
    logs_.look(), samples_.end_day();
    std::cout << fmt::format("{:.1f} days, {:.0f} s\n", static_cast<double>(number) / plan_.steps,
                             real_seconds() - begin_);
    for (const auto& [name, times] : project_.killed()) std::cout << "killed " << times << " times: " << name << '\n';
    for (const auto& [fate, times] : clients_.fates())
        std::cout << "fate " << static_cast<int>(fate) << ": " << times << '\n';
    EXPECT_EQ(killed() + spared, plan_.kills);
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM workunit")), 0) << "work is left";
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM result")), 0);
    EXPECT_THAT(logs_.unexpected(), testing::IsEmpty());
    expect_archives(), expect_credit(), expect_assimilated(), expect_bounds();
}

}  // namespace
}  // namespace sluice::test
