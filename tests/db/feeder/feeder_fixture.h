// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project folder with a config.xml, a database of its own, and the real feeder program.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/shmem/scheduler_array.h"
#include "tests/support/paths.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/segment_files.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

inline double seconds_since(std::chrono::steady_clock::time_point t) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}
inline std::chrono::steady_clock::time_point tick() { return std::chrono::steady_clock::now(); }

class FeederProject {
  public:
    explicit FeederProject(PrivateMariaDb& server, const std::string& more_config = "", int slots = 100)
        : server_(server), db_((use(server), server.create_project_database("feeder"))) {
        configure(more_config, slots);
        for (
            const char* sql :
            {"insert into platform (create_time, name, user_friendly_name, deprecated) values (0, 'linux', 'Linux', 0)",
             "insert into app (create_time, name, user_friendly_name) values (0, 'one', 'One'), (0, 'two', 'Two')"}) {
            execute(sql);
        }
        name = job_array_name(0x1111abcd, dir.path());
    }
    ~FeederProject() { remove_segment_files(name); }

    void configure(const std::string& more, int slots) {
        dir.write("config.xml", "<boinc><config>" + server_.config_elements("feeder") +
                                    "<shmem_key>0x1111abcd</shmem_key><shmem_work_items>" + std::to_string(slots) +
                                    "</shmem_work_items>" + more + "</config></boinc>\n");
    }
    /// The statement is text of a test: straight to the server.
    void execute(const std::string& sql) {
        dir.write("statement.sql", sql + ";\n");
        server_.load("feeder", dir / "statement.sql");
    }
    std::int64_t number(const Sql& sql) { return number_of(db_, sql); }
    Database& db() { return db_; }

    /// `n` unsent results of `n` new workunits, ids from `first` on.
    void add_jobs(Id first, Id n, int priority = 0, int app = 1) {
        constexpr Id kAtOnce = 10000;  // a busy machine takes its time for many rows
        for (; n > kAtOnce; first += kAtOnce, n -= kAtOnce) add_some_jobs(first, kAtOnce, priority, app);
        add_some_jobs(first, n, priority, app);
    }

    Subprocess start(std::vector<std::string> args = {}, const std::map<std::string, std::string>& env = {}) const {
        args.insert(args.begin(), sluice::test::binary_dir() + "/bin/feeder");
        RunOptions options;
        options.env = env;
        options.env["BOINC_PROJECT_DIR"] = dir.path().string();
        options.cwd = dir.path();
        return Subprocess(args, options);
    }
    RunResult run_to_end(std::vector<std::string> args) const {
        auto feeder = start(std::move(args));
        const auto result = feeder.wait();
        EXPECT_TRUE(result) << "the feeder does not end";
        return result.value_or(RunResult{});
    }
    bool wait_ready(double timeout = 120) const {
        return eventually(
            [&] {
                try {
                    return JobArray::attach_read_only(name)->ready();
                } catch (const ShmemError&) {
                    return false;
                }
            },
            timeout);
    }
    /// Result ids by slot; 0: empty.
    std::vector<Id> array() const {
        const auto a = JobArray::attach_read_only(name);
        std::vector<Id> ids;
        for (std::uint32_t i = 0; i < a->size(); ++i) {
            JobSummary job;
            SlotRef ref;
            ids.push_back(a->read(i, job, ref) == SlotState::kPresent ? job.result_id : 0);
        }
        return ids;
    }
    /// Those that are there, in order of slots.
    std::vector<Id> jobs() const {
        auto ids = array();
        std::erase(ids, 0);
        return ids;
    }
    bool holds(Id id) const {
        const auto ids = array();
        return std::find(ids.begin(), ids.end(), id) != ids.end();
    }
    bool segment_exists() const { return !segment_files(name).empty(); }

    /// A table of the numbers `first` to `first`+n-1 in its column seq; n is at most 100000.
    static std::string numbers(Id first, Id n) {
        return "(select seq+" + std::to_string(first - 1) +
               " seq from seq_1_to_100000 where seq<=" + std::to_string(n) + ") numbers";
    }

    TempDir dir;
    JobArrayName name;

  private:
    void add_some_jobs(Id first, Id n, int priority, int app) {
        const std::string range = numbers(first, n);
        const auto app_text = std::to_string(app), priority_text = std::to_string(priority);
        execute(
            "insert into workunit (id, create_time, appid, name, xml_doc, batch, rsc_fpops_est, rsc_fpops_bound, "
            "rsc_memory_bound, rsc_disk_bound, need_validate, canonical_resultid, canonical_credit, transition_time, delay_bound, "
            "error_mask, file_delete_state, assimilate_state, hr_class, opaque, min_quorum, target_nresults, max_error_results, "
            "max_total_results, max_success_results, result_template_file, priority, rsc_bandwidth_bound, fileset_id, "
            "app_version_id, transitioner_flags, keywords, app_version_num) select seq, 0, " +
            app_text +
            ", concat('wu_', seq), concat(rpad('<workunit>\n', 280, 'x'), '\n</workunit>\n'), 0, 1e12, 1e14, 1e8, 1e8, 0, 0, 0, 2147483647, 86400, "
            "0, 0, 0, 0, 0, 1, 1, 3, 10, 6, '', " +
            priority_text + ", 0, 0, 0, 0, '', 0 from " + range);
        execute(
            "insert into result (id, create_time, workunitid, server_state, outcome, client_state, hostid, userid, "
            "report_deadline, sent_time, received_time, name, xml_doc_in, cpu_time, batch, file_delete_state, validate_state, claimed_credit, "
            "granted_credit, opaque, random, app_version_num, appid, exit_status, teamid, priority, elapsed_time, flops_estimate, "
            "app_version_id, runtime_outlier, peak_working_set_size, peak_swap_size, peak_disk_usage) select seq, 0, seq, 2, 0, 0, 0, 0, "
            "0, 0, 0, concat('wu_', seq, '_0'), '<result>\n</result>\n', 0, 0, 0, 0, 0, 0, 0, seq * 7919 % 100003, 0, " +
            app_text + ", 0, 0, " + priority_text + ", 0, 0, 0, 0, 0, 0, 0 from " + range);
    }

    /// A test may have started another server since.
    static void use(const PrivateMariaDb& server) { ::setenv("MYSQL_UNIX_PORT", server.socket().c_str(), 1); }

    PrivateMariaDb& server_;
    Database db_;
};

/// Plays a scheduler: claims, commits in one statement, consumes.
class Consumer {
  public:
    explicit Consumer(FeederProject& project) : project_(project), array_(SchedulerArray::attach(project.name)) {}
    /// Up to `n` jobs in order of slots; their ids. `commit` = false: consumed without a word to the database.
    std::vector<Id> take(std::size_t n, bool commit = true) {
        std::vector<Claim> claims;
        std::vector<Id> ids;
        for (std::uint32_t i = 0; i < array_->size() && ids.size() < n; ++i) {
            JobSummary job;
            SlotRef ref;
            if (array_->read(i, job, ref) != SlotState::kPresent) continue;
            auto claim = array_->claim(ref);
            if (!claim) continue;
            claims.push_back(std::move(*claim));
            ids.push_back(job.result_id);
        }
        if (!ids.empty() && commit) {
            Sql sql("update result set server_state = 4 where server_state = 2 and id in (");
            sql.ids(ids) << ")";
            committed_ += static_cast<std::size_t>(project_.db().execute(sql));
        }
        for (Claim& claim : claims) claim.consume();
        return ids;
    }
    std::size_t committed() const { return committed_; }
    SchedulerArray& array() { return *array_; }

  private:
    FeederProject& project_;
    std::unique_ptr<SchedulerArray> array_;
    std::size_t committed_ = 0;
};

}  // namespace sluice::test
