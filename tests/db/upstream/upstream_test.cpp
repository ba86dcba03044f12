// SPDX-License-Identifier: LGPL-3.0-or-later
// Upstream's feeder and scheduler on made-up cases, beside our decision code: the same jobs, versions and deadlines.
// SLUICE_UPSTREAM_PREFIX names a folder with bin/ and cgi-bin/ of a build of BOINC at c5c6cb79. SLUICE_RECORD=FILE
// writes upstream's decisions there (tests/unit/upstream/decisions.txt); SLUICE_CASES and SLUICE_FIRST_WORLD say how
// many, and from which seed on.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "tests/support/database_rows.h"
#include "tests/support/test_project.h"
#include "tests/unit/upstream/case_records.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

long from_environment(const char* name, long otherwise) {
    const char* text = std::getenv(name);
    return text && *text ? std::strtol(text, nullptr, 10) : otherwise;
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
        RunOptions options = project_.run_options();
        options.cwd = project_.folder() / "cgi-bin";
        options.stdin_text = request;
        options.env["REQUEST_METHOD"] = "POST";
        options.env["CONTENT_LENGTH"] = std::to_string(request.size());
        options.env["REMOTE_ADDR"] = "127.0.0.1";
        return run({(prefix_ / "cgi-bin/cgi").string()}, options).out;
    }
    std::string log() const { return project_.scheduler_log(); }

  private:
    fs::path prefix_;
    TestProject project_;
    std::optional<Subprocess> feeder_;
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
        // Upstream's feeder refuses homogeneous redundancy of the project beside that of apps.
        const bool of_apps = world.rows.apps.begin()->second.homogeneous_redundancy != HrType::kNone;
        if (of_apps && world.options.find("<homogeneous_redundancy>") != std::string::npos) continue;
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

}  // namespace
}  // namespace sluice::test
