// SPDX-License-Identifier: LGPL-3.0-or-later
// Upstream's feeder and scheduler on made-up cases, beside our decision code: the same jobs, versions and deadlines.
// SLUICE_UPSTREAM_PREFIX names a folder with bin/ and cgi-bin/ of a build of BOINC at c5c6cb79. SLUICE_RECORD=FILE
// writes upstream's decisions there (tests/unit/upstream/decisions.txt); SLUICE_CASES and SLUICE_FIRST_WORLD say how
// many, and from which seed on.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "tests/support/captures.h"
#include "tests/support/database_rows.h"
#include "tests/support/paths.h"
#include "tests/support/project_rows.h"
#include "tests/support/test_project.h"
#include "tests/unit/upstream/case_records.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

long from_environment(const char* name, long otherwise) {
    const char* text = std::getenv(name);
    return text && *text ? std::strtol(text, nullptr, 10) : otherwise;
}

/// Upstream's feeder refuses homogeneous redundancy of the project beside that of apps.
bool is_refused_by_their_feeder(const CaseWorld& world) {
    const bool of_apps = world.rows.apps.begin()->second.homogeneous_redundancy != HrType::kNone;
    return of_apps && world.options.find("<homogeneous_redundancy>") != std::string::npos;
}

/// What the feeder says when all is in the array: upstream's, and ours (for a try without upstream's programs).
std::string ready_text(const fs::path& prefix) {
    return fs::exists(prefix / "bin/sched_explain") ? "ready" : "Added 150 results to array";
}

/// A project on which upstream's programs run.
class UpstreamsProject {
  public:
    UpstreamsProject(const fs::path& prefix, const CaseWorld& world)
        : prefix_(prefix), project_(PrivateMariaDb::shared(), "upstream", world.options) {
        project_.rows() = world.rows;
        project_.store();
        fs::create_directories(log_dir(project_.folder()));
        for (const auto& [app, quantiles] : world.quantiles) {
            std::string text;
            for (double q : quantiles) text += std::to_string(q) + "\n";
            write_file_atomically(project_.folder() / ("size_census_app" + std::to_string(app)), text);
        }
        feeder_.emplace(std::vector<std::string>{(prefix / "bin/feeder").string(), "-d", "4"}, project_.run_options());
        if (!feeder_->wait_for_output(ready_text(prefix), 60))
            throw std::runtime_error("upstream's feeder: " + feeder_->err());
    }
    ~UpstreamsProject() {
        feeder_->send_signal(SIGTERM);
        feeder_->wait(15);
    }
    FakeDb rows() { return load_rows(project_.db()); }
    /// The jobs that a host has, without their texts.
    FakeDb jobs_of(Id host) {
        Sql sql(
            "SELECT id, app_version_id, report_deadline, sent_time, flops_estimate, name FROM result WHERE "
            "server_state=4 AND hostid=");
        Rows found = project_.db().query(sql << host);
        FakeDb rows;
        while (found.next()) {
            Result& r = rows.results[found.i64(0)];
            r.id = found.i64(0), r.app_version_id = found.i64(1), r.report_deadline = found.i64(2);
            r.sent_time = found.i64(3), r.flops_estimate = found.f64(4), r.name = found.text(5);
            r.server_state = ServerState::kInProgress, r.hostid = host;
        }
        return rows;
    }
    /// The host's last RPC was a second ago, however long the world took: its day does not begin meanwhile.
    std::string ask(Id host, const std::string& request) {
        Sql sql("UPDATE host SET rpc_time=UNIX_TIMESTAMP()-1 WHERE id=");
        project_.db().execute(sql << host);
        if (live_) return ask_through_pipes(request);
        RunOptions options = project_.run_options();
        options.cwd = project_.folder() / "cgi-bin";
        options.stdin_text = request;
        options.env["REQUEST_METHOD"] = "POST";
        options.env["CONTENT_LENGTH"] = std::to_string(request.size());
        options.env["REMOTE_ADDR"] = "127.0.0.1";
        return run({(prefix_ / "cgi-bin/cgi").string()}, options).out;
    }
    std::string log() const { return project_.scheduler_log(); }
    const TestProject& project() const { return project_; }
    /// From now on its scheduler keeps requests and replies.
    void record() {
        fs::create_directories(recorded());
        fs::permissions(recorded(), fs::perms(0777));
        std::string config = *read_file(project_.folder() / "config.xml");
        config.insert(config.rfind("</config>"),
                      "<debug_req_reply_dir>" + recorded().string() + "</debug_req_reply_dir>\n");
        write_file_atomically(project_.folder() / "config.xml", config);
    }
    fs::path recorded() const { return project_.folder() / "recorded"; }
    /// What it says of the recorded requests.
    std::string shadow() {
        const RunResult r = project_.run_program("sluice", shadow_words());
        EXPECT_LT(r.status, 2) << r.err;
        return r.out;
    }
    /// From now on requests are those of a web server, with the tee in front of the scheduler.
    void look_live() {
        fs::create_directories(cgi().parent_path());
        fs::copy_file(prefix_ / "cgi-bin/cgi", cgi(), fs::copy_options::overwrite_existing);
        std::vector<std::string> words{(fs::path(binary_dir()) / "bin/sluice").string()};
        for (const std::string& word : shadow_words()) words.push_back(word);
        words.emplace_back("--tee");
        live_.emplace(words, project_.run_options());
        if (!live_->wait_for_output("the tee is in place", 60)) throw std::runtime_error("shadow: " + live_->err());
    }
    /// What it says of the requests since then.
    std::string live_shadow() {
        live_->send_signal(SIGINT);
        const auto r = live_->wait();
        EXPECT_TRUE(r && r->status < 2) << live_->err();
        live_.reset();
        EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=DATABASE() AND "
                                     "table_name LIKE 'sluice%'")),
                  0)
            << "it makes no table";
        return r ? r->out : "";
    }

  private:
    fs::path cgi() const { return project_.folder() / "cgi-bin/cgi"; }
    std::vector<std::string> shadow_words() const {
        return {"shadow", project_.folder().string(), "--json", "--examples", "1000"};
    }
    std::string ask_through_pipes(const std::string& request) {
        const fs::path file = project_.folder() / "request.xml";
        write_file_atomically(file, request);
        RunOptions options = project_.run_options();
        options.cwd = cgi().parent_path();
        options.env["REQUEST_METHOD"] = "POST";
        options.env["CONTENT_LENGTH"] = std::to_string(request.size());
        options.env["REMOTE_ADDR"] = "127.0.0.1";
        return run({"/bin/sh", "-c", "cat " + file.string() + " | " + cgi().string() + " | cat"}, options).out;
    }
    fs::path prefix_;
    TestProject project_;
    std::optional<Subprocess> feeder_;
    std::optional<Subprocess> live_;
};

TEST(Upstream, DecidesAsOurCodeDoes) {
    const char* prefix = std::getenv("SLUICE_UPSTREAM_PREFIX");
    if (prefix == nullptr || *prefix == '\0')
        GTEST_SKIP() << "SLUICE_UPSTREAM_PREFIX is not set (tests/allowed_skips.txt)";
    log_set_level(LogLevel::kCritical);
    const long wanted = from_environment("SLUICE_CASES", 300);
    CaseRecords records;
    long cases = 0, with_jobs = 0, undetermined = 0, unexplained = 0;
    for (std::uint64_t seed = static_cast<std::uint64_t>(from_environment("SLUICE_FIRST_WORLD", 1)); cases < wanted;
         ++seed) {
        const CaseWorld world = make_case_world(seed, CaseReplay::kNow);
        if (is_refused_by_their_feeder(world)) continue;
        UpstreamsProject upstream(prefix, make_case_world(seed, std::time(nullptr)));
        CaseReplay replay(seed);
        const std::set<Id> before = in_progress(world.rows);
        for (int n = 0; n < kRequestsOfAWorld; ++n) {
            CaseDecision ours;
            if (!replay.is_determined(n, ours)) {
                ++undetermined;
                continue;
            }
            const std::string reply = upstream.ask(n + 1, world.requests[static_cast<std::size_t>(n)]);
            const CaseDecision theirs = decision_of(reply, upstream.jobs_of(n + 1), n + 1, before);
            if (const std::string differs = difference(ours, theirs); !differs.empty()) {
                const std::string row = replay.explanation(n, theirs);
                unexplained += row == "not explained yet" ? 1 : 0;
                std::cout << "world " << seed << " request " << n << " (" << row << "): " << differs << "\n";
                if (std::getenv("SLUICE_SHOW_REPLY"))
                    std::cout << world.options << world.requests[static_cast<std::size_t>(n)] << reply;
            }
            records[seed][n] = theirs;
            replay.apply(n, theirs);
            ++cases;
            with_jobs += theirs.jobs.empty() ? 0 : 1;
        }
        EXPECT_EQ(replay.commitments(), commitments_of(upstream.rows())) << "world " << seed;
        if (const char* file = std::getenv("SLUICE_RECORD")) write_case_records(file, records);
    }
    EXPECT_EQ(unexplained, 0) << "each difference has a row in docs/compat.md";
    RecordProperty("undetermined", static_cast<int>(undetermined));
    EXPECT_GT(with_jobs, cases / 4);
}

/// Differences of sluice shadow, by "theirs -> ours: row".
class Differences {
  public:
    void add(const std::string& comparison, const std::string& where) {
        const json j = json::parse(comparison, nullptr, false);
        ASSERT_TRUE(j.is_object()) << comparison;
        requests += j["requests"]["all"].get<int>();
        compared += j["requests"]["compared"].get<int>();
        same += j["requests"]["same"].get<int>();
        jobs += j["theirs"]["jobs"].get<int>();
        if (j.contains("live")) at_once += j["live"]["at_once"].get<int>();
        for (const json& group : j["differences"]) {
            const bool explained = !group["compat_row"].is_null();
            const std::string row = explained ? group["compat_row"].get<std::string>() : "not explained";
            counts[group["theirs"].get<std::string>() + " -> " + group["ours"].get<std::string>() + ": " + row] +=
                group["count"].get<int>();
            if (explained) continue;
            unexplained += group["count"].get<int>();
            for (const json& example : group["examples"]) std::cout << where << " " << example.dump() << "\n";
        }
    }
    void print() const {
        std::cout << requests << " requests, " << compared << " compared, " << same << " the same, " << jobs << " jobs";
        if (at_once > 0) std::cout << ", " << at_once << " on a snapshot of their moment";
        std::cout << "\n";
        for (const auto& [pair, n] : counts) std::cout << n << " " << pair << "\n";
    }
    int requests = 0, compared = 0, same = 0, jobs = 0, unexplained = 0, at_once = 0;
    std::map<std::string, int> counts;
};

/// Upstream's scheduler answers so many requests of made-up worlds: after `begin` in each world, told by `report`.
void expect_explained(long cases, void (UpstreamsProject::*begin)(), std::string (UpstreamsProject::*report)()) {
    const char* prefix = std::getenv("SLUICE_UPSTREAM_PREFIX");
    if (prefix == nullptr || *prefix == '\0')
        GTEST_SKIP() << "SLUICE_UPSTREAM_PREFIX is not set (tests/allowed_skips.txt)";
    log_set_level(LogLevel::kCritical);
    Differences all;
    for (std::uint64_t seed = static_cast<std::uint64_t>(from_environment("SLUICE_FIRST_WORLD", 1));
         all.requests < cases; ++seed) {
        const CaseWorld world = make_case_world(seed, std::time(nullptr));
        if (is_refused_by_their_feeder(world)) continue;
        UpstreamsProject upstream(prefix, world);
        (upstream.*begin)();
        for (int n = 0; n < kRequestsOfAWorld; ++n) upstream.ask(n + 1, world.requests[static_cast<std::size_t>(n)]);
        all.add((upstream.*report)(), "world " + std::to_string(seed));
    }
    all.print();
    EXPECT_GT(all.jobs, all.requests / 4);
    EXPECT_EQ(all.unexplained, 0) << "each difference has a row in docs/compat.md";
}

TEST(Upstream, ShadowExplainsEachDifference) {
    expect_explained(from_environment("SLUICE_CASES", 300), &UpstreamsProject::record, &UpstreamsProject::shadow);
}

TEST(Upstream, LiveShadowExplainsEachDifference) {
    expect_explained(from_environment("SLUICE_CASES", 100), &UpstreamsProject::look_live,
                     &UpstreamsProject::live_shadow);
}

/// Where the hosts of the captured requests have jobs to get.
CaseWorld captured_world() {
    CaseWorld world;
    world.options =
        "<shmem_work_items>200</shmem_work_items>\n<feeder_query_size>200</feeder_query_size>\n"
        "<resend_lost_results>1</resend_lost_results>\n<daily_result_quota>500</daily_result_quota>\n";
    world.rows = small_project();
    constexpr int kJobsOfTheFeedersWord = 150;
    for (int id = 1; id <= kJobsOfTheFeedersWord; ++id) {
        Workunit& wu = world.rows.workunits[id] = a_workunit(id, std::time(nullptr));
        Result& r = world.rows.results[id] = a_result(id, wu, 0);
        r.server_state = ServerState::kUnsent;
    }
    for (const Id id : {1, 13, 26}) {  // of the captured requests
        Host& host = world.rows.hosts[id];
        host.id = id;
        host.userid = 1;
    }
    return world;
}

TEST(Upstream, ShadowOfCapturedRequests) {
    const char* prefix = std::getenv("SLUICE_UPSTREAM_PREFIX");
    if (prefix == nullptr || *prefix == '\0')
        GTEST_SKIP() << "SLUICE_UPSTREAM_PREFIX is not set (tests/allowed_skips.txt)";
    log_set_level(LogLevel::kCritical);
    Differences all;
    UpstreamsProject upstream(prefix, captured_world());
    upstream.record();
    int n = 0;
    for (const std::string& name : capture_names("request")) {
        upstream.ask(0, capture(name));
        ++n;
    }
    all.add(upstream.shadow(), "captured");
    all.print();
    EXPECT_GT(all.compared, n / 2);
    EXPECT_EQ(all.unexplained, 0) << "each difference has a row in docs/compat.md";
}

}  // namespace
}  // namespace sluice::test
