// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The work of a month or a week: workunits, what is seen of them while they live, and what must be left in the end.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/db/soak/month_clients.h"
#include "tests/db/soak/month_project.h"

namespace sluice::test {

class MonthWork {
  public:
    /// Both outlive it.
    MonthWork(MonthProject& project, const MonthClients& clients) : project_(project), clients_(clients) {}

    void create_singles(int step, int n);
    /// `kind` begins the names: bad_ fails on each host.
    std::string create_batch(int step, int n, const std::string& kind = "job");
    const std::set<std::string>& created() const { return created_; }
    /// Puts a workunit's input file where clients fetch it.
    void write_input(const std::string& name) const;
    /// Of these workunits the test spoils results: they may fail, and hosts may get nothing for them.
    void spoil(const std::vector<std::string>& names) { spoilt_.insert(names.begin(), names.end()); }

    /// What is there now is looked for in the archives later; no live workunit has lost a file.
    void look();
    /// update_stats removes what was handled a month ago.
    void note_messages();
    /// When all rows are archived: no job was lost or counted twice, and credit is what clients earned.
    void expect_whole();

  private:
    void create(const std::string& app, std::vector<std::string> names, double credit, const std::string& batch = "");
    void see_rows(const std::string& table, std::set<Id>& seen);
    void expect_live_files();
    void expect_archives();
    void expect_credit();
    void expect_assimilated();

    MonthProject& project_;
    const MonthClients& clients_;
    std::set<std::string> created_, spoilt_;
    std::set<Id> workunits_, results_;
    std::map<Id, double> credit_;           ///< of hosts, by the archives and the clients
    std::map<Id, double> credit_messages_;  ///< of hosts, how many
    Id last_message_ = 0;
};

}  // namespace sluice::test
