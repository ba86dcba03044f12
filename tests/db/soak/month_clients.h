// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Volunteers of the month: hosts that fetch jobs, upload real files and report, with errors, time-outs, jobs that got
// lost, wrong output and messages from applications.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/db/soak/month_project.h"

namespace sluice::test {

/// What becomes of a job on a host; its name alone decides, if its input file can be fetched.
enum class Fate { kRight, kWrong, kError, kSilent, kLate, kLost, kNoInput };

struct HostJob {
    std::string output, signature;  ///< the file's name, and what the server signed for it
    double ready = 0, deadline = 0;
    Fate fate = Fate::kRight;
    bool uploaded = false;
};

struct MadeUpHost {
    int number = 0, user = 1;
    Id id = 0;
    int seqno = 0;
    double next_contact = 0;
    std::map<std::string, HostJob> jobs;
    std::set<std::string> forgotten;  ///< names of jobs that it lost once
};

/// wu_T_N: of step T; its name begins with bad_ if each host fails on it.
std::string workunit_of(const std::string& result_name);

class MonthClients {
  public:
    MonthClients(MonthProject& project, int hosts, double first_contact);

    /// All hosts whose time has come.
    void serve();
    const std::vector<MadeUpHost>& hosts() const { return hosts_; }
    /// Names of results that were acknowledged with the right output before their deadline, and at any time.
    const std::set<std::string>& right_in_time() const { return right_in_time_; }
    const std::set<std::string>& right() const { return right_; }
    std::map<Fate, int> fates() const { return fates_; }
    int requests() const { return requests_; }
    int aborted() const { return aborted_; }
    /// Run time that messages of variety credit told, which the server acknowledged; of a host.
    std::map<Id, double> told_runtime() const { return told_runtime_; }

  private:
    static constexpr double kJob = 900;
    void serve(MadeUpHost& host);
    bool upload(const std::string& name, HostJob& job);
    std::string request_of(MadeUpHost& host, const std::set<std::string>& reported, std::string& variety);
    void take(MadeUpHost& host, const std::string& reply, const std::set<std::string>& reported);
    void take_jobs(MadeUpHost& host, const std::string& reply);

    MonthProject& project_;
    std::vector<MadeUpHost> hosts_;
    std::set<std::string> right_in_time_, right_;
    std::map<Fate, int> fates_;
    std::map<Id, double> told_runtime_;
    int requests_ = 0, aborted_ = 0;
};

}  // namespace sluice::test
