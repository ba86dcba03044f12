// A small batch on real clients whose queues are full: batch_planner's plan makes its jobs start at once, one a
// processor, and reported as they end; what gave way goes on from its checkpoint. Everything is waited for as an event;
// the bounds on times are loose, as other tests run beside this one, and far from what clients do without deadlines
// that hurry them (these queues last half an hour, and what is done is reported after an hour).
#include <fstream>

#include "tests/client/real/real_client.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;

constexpr double kQueued = 600, kShort = 10;  ///< s that jobs are expected to run
constexpr double kAtOnce = 60;                ///< s

std::vector<long> numbers_in(const std::string& file) {
    std::ifstream in(file);
    std::vector<long> all;
    for (long n; in >> n;) all.push_back(n);
    return all;
}

std::int64_t changed_at(const std::string& file) {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::file_clock::to_sys(std::filesystem::last_write_time(file)).time_since_epoch())
        .count();
}

class PlannedBatch : public RealClient {
  protected:
    PlannedBatch() { world_.option("plan_batches", "1"); }
    ~PlannedBatch() override { world_.option("plan_batches", "0"); }

    std::string files(const std::string& job) const { return world_.control_file(job); }
    std::size_t starts(const std::string& job) const { return numbers_in(files(job) + ".starts").size(); }
    /// A client of one processor that has three ten-minute jobs and wants more; its first job has a checkpoint.
    void fill(Volunteer& v, const std::string& name) {
        v.client().want_work_for(0.1);
        for (const char* n : {"1", "2", "3"})
            queued_[name + n] =
                world_.add_job("count " + files(name + n), {"--rsc_fpops_est", std::to_string(kQueued * 1e9)});
        v.attach();
        ASSERT_TRUE(v.update_until([&] { return v.count("<active_task>") > 0 && v.count("<result>") == 3; }))
            << v.log() << world_.scheduler_log();
        ASSERT_TRUE(wait_until([&] { return !first_of(name).empty(); })) << v.log();
        v.client().command({"--set_network_mode", "never"});
    }
    /// The one of its jobs that has a checkpoint; "" as long as there is none.
    std::string first_of(const std::string& name) const {
        for (const char* n : {"1", "2", "3"})
            if (std::filesystem::exists(files(name + n) + ".saved")) return name + n;
        return "";
    }
    Id submit_batch() {
        const std::string id = world_.in_project(
            {"sluice_batch", "create", "--user", std::to_string(world_.user_id(name_)), "--app", "steered"});
        std::ofstream jobs(world_.root() / "jobs.txt");
        for (const char* n : {"1", "2", "3", "4"})
            jobs << "--command_line 'count " << files(std::string("short") + n) << "' input\n";
        jobs.close();
        world_.in_project({"sluice_batch", "submit", std::to_string(std::stoll(id)), "jobs.txt", "--rsc_fpops_est",
                           std::to_string(kShort * 1e9), "--rsc_fpops_bound", "1e16", "--rsc_memory_bound", "1e7",
                           "--rsc_disk_bound", "1e7", "--min_quorum", "1", "--target_nresults", "1"});
        return std::stoll(id);
    }
    /// Results of the batch in this state.
    std::int64_t in_state(Id batch, int state) {
        Sql query("SELECT COUNT(*) FROM result WHERE batch=");
        return world_.number(query << batch << " AND server_state=" << state);
    }
    std::vector<std::string> running_short() const {
        std::vector<std::string> names;
        for (const char* n : {"short1", "short2", "short3", "short4"})
            if (starts(n) > 0 && !std::filesystem::exists(files(n) + ".go")) names.emplace_back(n);
        return names;
    }
    std::map<std::string, Id> queued_;
};

TEST_F(PlannedBatch, OvertakesFullQueuesAndWhatGaveWayGoesOn) {
    const std::string options = "<report_results_immediately>0</report_results_immediately>";
    Volunteer a(world_, key_, options), b(world_, key_, options);
    fill(a, "a"), fill(b, "b");
    ASSERT_FALSE(HasFatalFailure());
    const std::string given_way = first_of("a");

    const Id batch = submit_batch();
    ASSERT_TRUE(wait_until([&] { return in_state(batch, 2) == 4; }));
    world_.in_project({"batch_planner", "--one_pass"});
    const double announced =
        std::stod(world_.text(Sql("SELECT finish FROM sluice_plan_batch WHERE batch_id=") << batch));
    ASSERT_TRUE(wait_until([&] { return !std::filesystem::exists(world_.root() / "reread_db"); }));
    for (Volunteer* v : {&a, &b}) v->client().command({"--set_network_mode", "auto"});

    // One a processor, at once, with a deadline that makes the client hurry: D = k R + B.
    ASSERT_TRUE(a.update_until([&] { return running_short().size() >= 1; })) << a.log() << world_.scheduler_log();
    ASSERT_TRUE(b.update_until([&] { return running_short().size() == 2; })) << b.log() << world_.scheduler_log();
    EXPECT_EQ(in_state(batch, 4), 2);
    EXPECT_EQ(world_.number(Sql("SELECT COUNT(DISTINCT hostid) FROM result WHERE server_state=4 AND batch=") << batch),
              2);
    EXPECT_NE(a.state_of_task(job_name(queued_[given_way])), "EXECUTING");
    const auto sent = world_.number(Sql("SELECT MIN(sent_time) FROM result WHERE server_state=4 AND batch=") << batch);
    const auto last_sent =
        world_.number(Sql("SELECT MAX(sent_time) FROM result WHERE server_state=4 AND batch=") << batch);
    for (const std::string& n : running_short()) {
        RecordProperty("started_after_" + n, static_cast<int>(changed_at(files(n) + ".starts") - sent));
        EXPECT_LE(static_cast<double>(changed_at(files(n) + ".starts") - last_sent), kAtOnce);
    }

    // Nobody asks the client: it reports by itself, and gets the next.
    for (const std::string& n : running_short()) world_.release(n + ".go");
    const auto ended = static_cast<std::int64_t>(std::time(nullptr));
    ASSERT_TRUE(wait_until([&] { return in_state(batch, 5) >= 2; })) << a.log();
    const auto reported =
        world_.number(Sql("SELECT MAX(received_time) FROM result WHERE server_state=5 AND batch=") << batch);
    RecordProperty("reported_after", static_cast<int>(reported - ended));
    EXPECT_LE(static_cast<double>(reported - ended), kAtOnce);
    for (const char* n : {"short1", "short2", "short3", "short4"}) world_.release(std::string(n) + ".go");
    ASSERT_TRUE(a.update_until([&] { return in_state(batch, 5) >= 3; })) << a.log();
    ASSERT_TRUE(b.update_until([&] { return in_state(batch, 5) == 4; })) << b.log();
    EXPECT_EQ(world_.number(Sql("SELECT COUNT(*) FROM result WHERE outcome=1 AND batch=") << batch), 4);
    EXPECT_LE(world_.number(Sql("SELECT MAX(received_time) FROM result WHERE batch=") << batch), announced);

    // From the checkpoint, to a good end.
    ASSERT_TRUE(wait_until([&] { return starts(given_way) >= 2; }))
        << given_way << a.client().command({"--get_tasks"}) << a.log();
    const long from = numbers_in(files(given_way) + ".starts").back();
    EXPECT_GT(from, 0);
    world_.release(given_way + ".go");
    ASSERT_TRUE(a.update_until([&] { return server_state(queued_[given_way]) == 5; })) << a.log();
    EXPECT_EQ(outcome(queued_[given_way]), 1);
    EXPECT_EQ(a.complaints() + b.complaints(), "");
}

}  // namespace
}  // namespace sluice::test
