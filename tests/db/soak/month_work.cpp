// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/db/soak/month_work.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <iostream>
#include <sstream>
#include <stdexcept>

#include "sluice/base/files.h"
#include "tests/db/soak/archived_rows.h"
#include "tests/support/database_rows.h"

namespace sluice::test {
namespace {

/// What a result of this workunit is worth; numbers that add up exactly.
double credit_of(const std::string& workunit) {
    const auto at = workunit.find("_t");
    return 20 + std::atoi(workunit.c_str() + at + 2) % 64 / 8.0;
}

std::string last_words(const std::string& log) {
    return log.substr(log.size() - std::min<std::size_t>(log.size(), 3000));
}

}  // namespace

void MonthWork::write_input(const std::string& name) const {
    const fs::path file = project_.input("in_" + name);
    fs::create_directories(file.parent_path());
    write_file_atomically(file, "input of " + name + std::string(500, '.'));
}

/// Every name that there is stands in created_ before its row can be there.
void MonthWork::create(const std::string& app, std::vector<std::string> names, double credit,
                       const std::string& batch) {
    for (const std::string& name : names) {
        created_.insert(name);
        write_input(name);
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
                                   fmt::format("{}", static_cast<int>(project_.plan().delay_bound)),
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

void MonthWork::create_singles(int step, int n) {
    std::vector<std::string> names;
    for (int i = 0; i < n; ++i)
        names.push_back(
            fmt::format("{}_t{}_q{}_{}", project_.draw(300) == 0 ? "bad" : "wu", step, 1 + project_.draw(2), i));
    if (n > 0) create("plain", names, credit_of(names[0]));
}

std::string MonthWork::create_batch(int step, int n, const std::string& kind) {
    const auto made = project_.run_program({"create_batch", "--app_name", "sized", "--user_id", "1"});
    if (!made || made->status != 0) throw std::runtime_error("create_batch: " + (made ? made->err : ""));
    const std::string id = made->out.substr(0, made->out.find('\n'));
    std::vector<std::string> names;
    for (int i = 0; i < n; ++i) names.push_back(fmt::format("{}_t{}_q{}_{}", kind, step, 1 + project_.draw(2), i));
    create("sized", names, credit_of(names[0]), id);
    const auto enabled = project_.run_program({"create_batch", "--enable", id});
    if (!enabled || enabled->status != 0) throw std::runtime_error("create_batch: " + (enabled ? enabled->err : ""));
    return id;
}

void MonthWork::look() {
    see_rows("workunit", workunits_), see_rows("result", results_);
    expect_live_files();
}

/// Rows stay for a day and more; ids that are not committed in order are seen by the next look.
void MonthWork::see_rows(const std::string& table, std::set<Id>& seen) {
    Sql sql("SELECT id FROM ");
    sql.identifier(table) << " WHERE id>" << (seen.empty() ? 0 : *seen.rbegin() - 5000);
    for (const auto& row : rows_of(project_.db(), sql, 1)) seen.insert(std::stoll(row[0]));
}

void MonthWork::expect_live_files() {
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

void MonthWork::note_messages() {
    Sql sql("SELECT hostid, id FROM msg_from_host WHERE variety='credit' AND id>");
    for (const auto& row : rows_of(project_.db(), sql << last_message_ << " ORDER BY id", 2)) {
        ++credit_messages_[std::stoll(row[0])];
        last_message_ = std::stoll(row[1]);
    }
}

void MonthWork::expect_archives() {
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
        EXPECT_TRUE(valid.contains(name) || spoilt_.contains(workunit_of(name))) << name << " got nothing";
}

/// 200 a day for a host of 1 GFLOPS: 1 for each message of 432 s. A message whose answer was lost may be there twice.
void MonthWork::expect_credit() {
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

void MonthWork::expect_assimilated() {
    std::set<std::string> taken;
    std::istringstream lines(read_file(project_.folder() / "../taken").value_or(""));
    for (std::string line; std::getline(lines, line);) {
        const bool failed = line.starts_with("error ");
        const std::string name = failed ? line.substr(6) : line;
        EXPECT_TRUE(failed == name.starts_with("bad_") || spoilt_.contains(name)) << line;
        taken.insert(name);
    }
    EXPECT_TRUE(taken == created_) << taken.size() << " of " << created_.size() << " workunits were assimilated";
}

void MonthWork::expect_whole() { expect_archives(), expect_credit(), expect_assimilated(); }

}  // namespace sluice::test
