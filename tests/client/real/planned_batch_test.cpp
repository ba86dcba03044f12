// SPDX-License-Identifier: LGPL-3.0-or-later
// Small batches on real clients whose queues are full of one-hour jobs: batch_planner's plan makes their jobs start at
// once, one a processor, and reported as they end; what gave way goes on from its checkpoint, and another project on
// the same computers keeps its share. What clients decide, and in which order, is read in their logs. Their times are
// bounded by what the issue promises, of the time in which the machine had processors to spare.
#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/client/real/client_times.h"
#include "tests/client/real/real_client.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

constexpr double kQueued = 3600, kShort = 10;  ///< s that jobs are expected to run
constexpr double kAtOnce = 15;                 ///< s from the reply to the start, and from the end to the report
/// Days of work that a client wants: that of its three one-hour jobs, and seven minutes.
constexpr double kBuffer = 0.13;
const std::vector<std::string> kThree{"1", "2", "3"}, kFour{"1", "2", "3", "4"};

std::vector<long> numbers_in(const std::string& file) {
    const RightsToAllFiles rights;
    std::ifstream in(file);
    std::vector<long> all;
    for (long n; in >> n;) all.push_back(n);
    return all;
}

/// More computers like that one, which never come again.
class Twins {
  public:
    Twins(ClientWorld& world, Id host, int count) : world_(world) {
        world_.db().execute(Sql("CREATE TABLE twin AS SELECT * FROM host WHERE id=") << host);
        for (Id id = kFirst; id < kFirst + count; ++id) {
            world_.db().execute(Sql("UPDATE twin SET host_cpid='', id=") << id);
            world_.db().execute(Sql("INSERT INTO host SELECT * FROM twin"));
        }
    }
    ~Twins() {
        world_.db().execute(Sql("DROP TABLE twin"));
        world_.db().execute(Sql("DELETE FROM host WHERE id>=") << kFirst);
    }

  private:
    static constexpr Id kFirst = 1000;
    ClientWorld& world_;
};

class PlannedBatch : public RealClient {
  protected:
    PlannedBatch() { world_.option("plan_batches", "1"); }
    ~PlannedBatch() override { world_.option("plan_batches", "0"); }

    /// What a job of the test counts in. Each test has its own names.
    std::string files(const std::string& job) const { return world_.control_file(name_ + job); }
    void release(const std::string& job) const { world_.release(name_ + job + ".go"); }
    std::size_t starts(const std::string& job) const { return numbers_in(files(job) + ".starts").size(); }
    bool has_checkpoint(const std::string& job) const { return std::filesystem::exists(files(job) + ".saved"); }
    Id queue(ClientWorld& world, const std::string& job) const {
        return world.add_job("count " + files(job), {"--rsc_fpops_est", std::to_string(kQueued * 1e9)});
    }
    /// A client of one processor that has three one-hour jobs and wants more; its first job has a checkpoint.
    void fill(Volunteer& v, const std::string& name) {
        for (const std::string& n : kThree) queued_[name + n] = queue(world_, name + n);
        v.attach();
        ASSERT_TRUE(v.update_until([&] { return v.count("<active_task>") > 0 && v.count("<result>") == 3; }))
            << v.log() << world_.scheduler_log();
        ASSERT_TRUE(wait_until([&] { return !first_of(name).empty(); })) << v.log();
        network(v, "never");  // an update that is pending must not take the next one's jobs
    }
    static void network(Volunteer& v, const std::string& mode) { v.client().command({"--set_network_mode", mode}); }
    /// The one of its jobs that has a checkpoint; "" as long as there is none.
    std::string first_of(const std::string& name) const {
        const auto found =
            std::find_if(kThree.begin(), kThree.end(), [&](auto& n) { return has_checkpoint(name + n); });
        return found == kThree.end() ? "" : name + *found;
    }
    /// Planned. The batch.
    Id submit_batch(const std::string& name, const std::vector<std::string>& all = kFour) {
        const Id id = std::stoll(world_.in_project(
            {"sluice_batch", "create", "--user", std::to_string(world_.user_id(name_)), "--app", "steered"}));
        std::ofstream jobs(world_.root() / "jobs.txt");
        for (const std::string& n : all) jobs << "--command_line 'count " << files(name + n) << "' input\n";
        jobs.close();
        world_.in_project({"sluice_batch", "submit", std::to_string(id), "jobs.txt", "--rsc_fpops_est",
                           std::to_string(kShort * 1e9), "--rsc_fpops_bound", "1e16", "--rsc_memory_bound", "1e7",
                           "--rsc_disk_bound", "1e7", "--min_quorum", "1", "--target_nresults", "1"});
        const auto made = static_cast<std::int64_t>(all.size());
        EXPECT_TRUE(wait_until([&] { return in_state(id, 2) == made; }));
        world_.in_project({"batch_planner", "--one_pass"});
        EXPECT_TRUE(wait_until([&] { return !std::filesystem::exists(world_.root() / "reread_db"); }));
        announced_[id] = std::stod(world_.text(Sql("SELECT finish FROM sluice_plan_batch WHERE batch_id=") << id));
        return id;
    }
    /// Its jobs that the next contact could get.
    int waiting_in_array(Id batch) {
        std::istringstream shown(world_.in_project({"show_shmem"}));
        int n = 0;
        for (std::string line; std::getline(shown, line);) {
            std::istringstream slot(line);
            std::string number, app, workunit, result, of;
            if (slot >> number >> app >> workunit >> result >> of && app == "steered" && of == std::to_string(batch))
                ++n;
        }
        return n;
    }
    /// Results of the batch in this state.
    std::int64_t in_state(Id batch, int state) {
        Sql query("SELECT COUNT(*) FROM result WHERE batch=");
        return world_.number(query << batch << " AND server_state=" << state);
    }
    std::vector<std::string> running(const std::string& batch) const {
        std::vector<std::string> names;
        for (const std::string& n : kFour)
            if (starts(batch + n) > 0 && !std::filesystem::exists(files(batch + n) + ".go")) names.push_back(batch + n);
        return names;
    }
    bool in_time(Id batch) {
        Sql last("SELECT MAX(received_time) FROM result WHERE batch="),
            good("SELECT COUNT(*) FROM result WHERE batch=");
        return world_.number(good << batch << " AND outcome=1") == 4 &&
               static_cast<double>(world_.number(last << batch)) <= announced_[batch];
    }
    void at_once(const std::string& what, std::time_t begin, std::time_t end) {
        const double spare = spare_.between(begin, end);
        std::cout << fmt::format("{}: {} s, {:.1f} s of them idle\n", what, end - begin, spare);
        EXPECT_LE(spare, kAtOnce) << what << ": " << end - begin << " s";
    }
    void expect_start_at_once(const Volunteer& v, Id batch, std::size_t from);
    void expect_report_at_once(const Volunteer& v, Id batch, std::size_t from);

    /// What the client began, or went on with, from that task on: so many tasks.
    static std::vector<std::string> begun(const Volunteer& v, const std::string& first, std::size_t most) {
        std::vector<std::string> names;
        for (const SaidLine& line : said_lines(v.log())) {
            const auto at = line.what.find("tarting task ");  // "Starting", "Restarting"; in two lines each
            if (at == std::string::npos) continue;
            const std::string name = line.what.substr(at + 13, line.what.find(' ', at + 13) - at - 13);
            if (!names.empty() && names.back() == name) continue;
            if ((name == first || !names.empty()) && names.size() < most) names.push_back(name);
        }
        return names;
    }

    std::map<std::string, Id> queued_;
    std::map<Id, double> announced_;  ///< batch -> T
    SpareTime spare_;
};

/// After that line of its log the first contact for work got a job of the batch, which ran before anything else.
void PlannedBatch::expect_start_at_once(const Volunteer& v, Id batch, std::size_t from) {
    const auto lines = said_lines(v.log());
    const std::size_t asked = said_place(lines, "Requesting new tasks for CPU", from);
    const std::size_t got = said_place(lines, "Scheduler request completed: got 1 new tasks", asked);
    ASSERT_LT(got, lines.size()) << v.log();
    EXPECT_EQ(said_place(lines, "Requesting new tasks for CPU", asked + 1) > got, true) << v.log();
    std::size_t start = got;
    while (start < lines.size() && lines[start].what.find("] Starting task ") == std::string::npos) ++start;
    ASSERT_LT(start, lines.size()) << v.log();
    const std::string name = lines[start].what.substr(lines[start].what.rfind(' ') + 1);
    Sql query("SELECT batch FROM result WHERE name=");
    EXPECT_EQ(world_.number(query << SqlText{name}), batch) << v.log();
    at_once("from the reply to the start of " + name, lines[got].at, lines[start].at);
}

/// After that line of its log a job of the batch ended, and nobody but the client itself made it report that.
void PlannedBatch::expect_report_at_once(const Volunteer& v, Id batch, std::size_t from) {
    const auto lines = said_lines(v.log());
    Sql query("SELECT name, received_time FROM result WHERE server_state=5 AND hostid=");
    for (const auto& row : rows_of(world_.db(), query << v.host_id() << " AND batch=" << batch, 2)) {
        const std::size_t end = said_place(lines, "Computation for task " + row[0] + " finished", from);
        ASSERT_LT(end, lines.size()) << row[0] << v.log();
        std::size_t report = said_place(lines, "Reporting 1 completed tasks", end);
        ASSERT_LT(report, lines.size()) << v.log();
        EXPECT_TRUE(lines[report - 1].what.ends_with("Sending scheduler request: To report completed tasks."))
            << v.log();
        at_once("from the end to the report of " + row[0], lines[end].at, std::stoll(row[1]));
    }
}

TEST_F(PlannedBatch, OvertakesFullQueuesAndTheOthersGoOn) {
    const std::string options = "<report_results_immediately>0</report_results_immediately>";
    Volunteer a(world_, key_, options), b(world_, key_, options);
    for (auto* v : {&a, &b}) v->client().want_work_for(kBuffer);
    fill(a, "a"), fill(b, "b");
    ASSERT_FALSE(HasFatalFailure());
    const std::vector<std::string> given_way{first_of("a"), first_of("b")};
    const Id batch = submit_batch("short");
    ASSERT_TRUE(wait_until([&] { return waiting_in_array(batch) == 4; })) << world_.in_project({"show_shmem"});
    const std::size_t from_a = said_lines(a.log()).size(), from_b = said_lines(b.log()).size();
    for (auto* v : {&a, &b}) network(*v, "auto");

    // One a processor, at once, with a deadline that makes the client hurry: D = k R + B.
    ASSERT_TRUE(a.update_until([&] { return running("short").size() >= 1; })) << a.log() << world_.scheduler_log();
    ASSERT_TRUE(b.update_until([&] { return running("short").size() == 2; })) << b.log() << world_.scheduler_log();
    EXPECT_EQ(in_state(batch, 4), 2);
    EXPECT_EQ(world_.number(Sql("SELECT COUNT(DISTINCT hostid) FROM result WHERE server_state=4 AND batch=") << batch),
              2);
    EXPECT_NE(a.state_of_task(job_name(queued_[given_way[0]])), "EXECUTING");
    EXPECT_NE(b.state_of_task(job_name(queued_[given_way[1]])), "EXECUTING");
    expect_start_at_once(a, batch, from_a), expect_start_at_once(b, batch, from_b);

    // Nobody asks the client: it reports by itself, and gets the next.
    for (const auto* v : {&a, &b})
        ASSERT_TRUE(wait_until([&] { return v->project_status("scheduler RPC pending") == "no"; }));
    const std::size_t end_a = said_lines(a.log()).size(), end_b = said_lines(b.log()).size();
    for (const std::string& n : running("short")) release(n);
    ASSERT_TRUE(wait_until([&] { return in_state(batch, 5) >= 2; })) << a.log() << b.log();
    expect_report_at_once(a, batch, end_a), expect_report_at_once(b, batch, end_b);
    for (const std::string& n : kFour) release("short" + n);
    ASSERT_TRUE(a.update_until([&] { return in_state(batch, 5) >= 3; })) << a.log();
    ASSERT_TRUE(b.update_until([&] { return in_state(batch, 5) == 4; })) << b.log();
    EXPECT_TRUE(in_time(batch));

    // From the checkpoint, to a good end.
    for (const std::string& job : given_way) {
        Volunteer& v = job.starts_with('a') ? a : b;
        ASSERT_TRUE(wait_until([&] { return starts(job) >= 2; }))
            << job << v.client().command({"--get_tasks"}) << v.log();
        EXPECT_GT(numbers_in(files(job) + ".starts").back(), 0);
        release(job);
        ASSERT_TRUE(v.update_until([&] { return server_state(queued_[job]) == 5; })) << v.log();
        EXPECT_EQ(outcome(queued_[job]), 1);
    }
    EXPECT_EQ(a.complaints() + b.complaints(), "");
    std::cout << fmt::format("processors were idle for {:.2f} of the time\n", spare_.idle_part());
}

/// A batch that counts on several jobs of each of its hosts: a client that asks for minutes of work gets them at once,
/// with deadlines one after the other, and does them in that order before its own queue.
TEST_F(PlannedBatch, TightJobsRunInOrderBeforeAllElse) {
    Volunteer v(world_, key_);
    v.client().want_work_for(kBuffer);
    fill(v, "q");
    ASSERT_FALSE(HasFatalFailure());
    const Twins others(world_, v.host_id(), 7);
    std::vector<std::string> many;
    for (int n = 101; n <= 126; ++n) many.push_back(std::to_string(n));
    const Id batch = submit_batch("many", many);
    ASSERT_TRUE(wait_until([&] { return waiting_in_array(batch) == 26; })) << world_.in_project({"show_shmem"});
    network(v, "auto");
    ASSERT_TRUE(v.update_until([&] { return in_state(batch, 4) > 0; })) << v.log() << world_.scheduler_log();
    const auto sent = in_state(batch, 4);
    EXPECT_GE(sent, 3) << v.log() << world_.scheduler_log();
    ASSERT_TRUE(wait_until([&] { return v.count("<result>") == 3 + sent; })) << v.log();
    std::vector<std::pair<double, std::string>> told;  // deadlines that the client knows
    for (const std::string& task : elements(v.client().state(), "result")) {
        const std::string name = elements(task, "name").at(0);
        Sql query("SELECT COUNT(*) FROM result WHERE name=");
        if (world_.number(query << SqlText{name} << " AND batch=" << batch) == 1)
            told.emplace_back(std::stod(elements(task, "report_deadline").at(0)), name);
    }
    std::sort(told.begin(), told.end());
    ASSERT_EQ(static_cast<std::int64_t>(told.size()), sent);
    std::vector<std::string> in_order;
    for (const auto& [deadline, name] : told) in_order.push_back(name);
    for (std::size_t i = 1; i < told.size(); ++i) EXPECT_GT(told[i].first, told[i - 1].first);

    const auto done = [&](const std::string& name) {
        Sql query("SELECT server_state FROM result WHERE name=");
        return world_.number(query << SqlText{name}) == 5;
    };
    for (const std::string& n : many) release("many" + n);
    network(v, "auto");
    ASSERT_TRUE(v.update_until([&] { return std::all_of(in_order.begin(), in_order.end(), done); })) << v.log();
    EXPECT_THAT(begun(v, in_order.front(), in_order.size()), testing::ElementsAreArray(in_order)) << v.log();
    EXPECT_LE(static_cast<double>(world_.number(Sql("SELECT MAX(received_time) FROM result WHERE batch=") << batch)),
              announced_[batch]);
    EXPECT_EQ(v.complaints(), "");
    world_.in_project({"sluice_batch", "abort", std::to_string(batch)});
}

/// The same computers work for a second project, too, whose jobs take an hour as well. Both have the same resource
/// share.
class SharedComputers : public PlannedBatch {
  protected:
    static constexpr double kTurn = 0.1;  ///< minutes after which projects take turns
    /// s of run time of both clients over which shares are looked at. A turn ends at the first checkpoint (5 s) after
    /// it, when the client looks (3 s here), and a job of a batch (10 s) waits for no turn: a client may be 24 s from
    /// even, a project 24 s of two clients from its half, .06 of this.
    static constexpr double kLookedAt = 400, kTolerance = 0.1;

    static ClientWorld& other() {
        static ClientWorld world(ClientWorld::shared());
        return world;
    }
    /// Three jobs of the second project, beside those that it has.
    void fill_beside(Volunteer& v, const std::string& name) {
        for (const std::string& n : kThree) queue(other(), "other_" + name + n);
        network(v, "auto");
        v.client().command({"--project_attach", other().url(), other_key_});
        ASSERT_TRUE(wait_until([&] { return v.count("<result>") == 6; })) << v.log() << other().scheduler_log();
        network(v, "never");
    }
    /// s for which tasks of each project ran on both computers.
    struct Times {
        double planned = 0, beside = 0;
        double sum() const { return planned + beside; }
        double share() const { return beside / sum(); }
        std::string text() const { return fmt::format("{:.0f} s and {:.0f} s", planned, beside); }
    };
    static Times times(const std::vector<Volunteer*>& all) {
        Times t;
        for (const Volunteer* v : all) {
            auto ran = run_times(said_lines(v->log()), std::time(nullptr));
            t.planned += ran["Real clients"], t.beside += ran["Real clients_beside"];
        }
        return t;
    }
    /// A client looks whose turn it is when it has read preferences, else once a minute.
    static void look_at_turns(const std::vector<Volunteer*>& all) {
        for (Volunteer* v : all) v->client().command({"--read_global_prefs_override"});
        ::sleep(2);
    }
    /// A client asks no other project for work while one of higher priority has not told it that it has none, and
    /// remembers that only of a request that nobody else wanted: it must get to make that one.
    static bool knows_nothing_is_beside(const Volunteer& v) {
        const auto lines = said_lines(v.log());
        return said_place(lines, "[Real clients_beside] Scheduler request completed: got 0 new tasks") < lines.size();
    }
    std::string other_key_ = other().add_user(name_);
};

TEST_F(SharedComputers, ASecondProjectKeepsItsShare) {
    Volunteer a(world_, key_), b(world_, key_);
    const std::vector<Volunteer*> both{&a, &b};
    for (Volunteer* v : both) v->client().want_work_for(2 * kBuffer, kTurn);
    fill(a, "a"), fill(b, "b");
    ASSERT_FALSE(HasFatalFailure());
    fill_beside(a, "a"), fill_beside(b, "b");
    ASSERT_FALSE(HasFatalFailure());
    for (Volunteer* v : both) network(*v, "auto");
    for (Volunteer* v : both) ASSERT_TRUE(wait_until([v] { return knows_nothing_is_beside(*v); }, 400)) << v->log();
    const Times at_first = times(both);
    world_.in_project({"batch_planner", "--one_pass"});  // what comes after a plan waits for the next
    for (const std::string name : {"one", "two"}) {
        const Id batch = submit_batch(name);
        const auto done = [&] {
            for (const std::string& n : running(name))
                if (has_checkpoint(n)) release(n);
            look_at_turns(both);
            for (Volunteer* v : both) v->client().update(world_.url());
            return in_state(batch, 5) == 4;
        };
        ASSERT_TRUE(wait_until(done, 400)) << a.log() << b.log() << world_.scheduler_log();
        EXPECT_TRUE(in_time(batch));
    }
    const Times after_batches = times(both);
    const auto run = [&] { return look_at_turns(both), times(both).sum() >= kLookedAt; };
    ASSERT_TRUE(wait_until(run, 1200)) << a.log();
    const Times t = times(both);
    std::cout << fmt::format("at first {}; after the batches {}; in the end {}, share {:.3f}\n", at_first.text(),
                             after_batches.text(), t.text(), t.share());
    EXPECT_NEAR(t.share(), 0.5, kTolerance) << a.log() << b.log();
    EXPECT_EQ(a.complaints() + b.complaints(), "");
}

}  // namespace
}  // namespace sluice::test
