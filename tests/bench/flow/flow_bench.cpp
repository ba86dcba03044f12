// SPDX-License-Identifier: LGPL-3.0-or-later
// What a pass of each daemon of the job flow costs on a project in full flow (generate.sql): seconds, CPU, peak memory,
// rows that the server looked at, statements. Prints a table; exit status 1 if a program failed.
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>

#include "sluice/shmem/scheduler_array.h"
#include "tests/bench/flow/measured_run.h"
#include "tests/bench/flow/refill_times.h"
#include "tests/support/leave_root.h"
#include "tests/support/paths.h"
#include "tests/support/segment_files.h"
#include "tests/support/subprocess.h"
#include "tests/support/syncing_mariadb.h"

using namespace sluice;
using namespace sluice::test;

namespace {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr int kRefillTurns = 100;  ///< at most, for 1 and for 10 slots each

struct Scale {
    int batches, jobs, hosts, inactive, plain, fresh, slots;
};
/// `slots` = 0: as many as go with the scale.
Scale scaled(double s, int slots) {
    const auto of = [s](int n) { return std::max(10, static_cast<int>(n * s)); };
    if (slots == 0) slots = of(10000);
    // Enough jobs for the array and for what is taken from it.
    return {of(1000),   800,  of(100000), of(100000), std::max(of(100000), slots + slots / 5 + 11 * kRefillTurns),
            of(100000), slots};
}

MariaDbOptions server_options(const Scale& scale) {
    MariaDbOptions options = syncing_mariadb(scale.batches < 100 ? 64 : 2048);
    options.more.insert(options.more.end(), {"--max-heap-table-size=1G", "--tmp-table-size=1G"});
    return options;
}

class Bench {
  public:
    Bench(const Scale& scale, std::string bin)
        : scale_(scale),
          bin_(std::move(bin)),
          server_(server_options(scale)),
          db_(server_.create_project_database("flow")) {
        config(0);
        project_.write(
            "templates/out",
            "<file_info>\n    <name><OUTFILE_0/></name>\n    <max_nbytes>5000000</max_nbytes>\n"
            "    <url><UPLOAD_URL/></url>\n</file_info>\n<result>\n    <file_ref>\n"
            "        <file_name><OUTFILE_0/></file_name>\n        <open_name>out</open_name>\n    </file_ref>\n"
            "</result>\n");
    }
    ~Bench() { remove_segment_files(array_name()); }  // a feeder's single pass leaves its array
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    void load() {
        const double begin = now_s();
        const int most =
            std::max({scale_.batches * scale_.jobs, scale_.hosts * 10, scale_.inactive, scale_.plain, scale_.fresh});
        db_.execute(Sql("CREATE TABLE numbers (n int PRIMARY KEY) ENGINE=InnoDB"));
        Sql fill("INSERT INTO numbers SELECT seq-1 FROM seq_1_to_100000000 LIMIT ");
        db_.execute(fill << most + 1);
        std::ifstream in(sluice::test::source_dir() + "/tests/bench/flow/generate.sql");
        const std::string file{std::istreambuf_iterator<char>(in), {}};
        // User variables live in one session: the client's.
        const std::string variables =
            fmt::format("set @batches={}, @jobs={}, @hosts={}, @inactive={}, @plain={};\n", scale_.batches, scale_.jobs,
                        scale_.hosts, scale_.inactive, scale_.plain);
        std::string calls;
        const int step = 50;
        for (int b = 1; b <= scale_.batches; b += step)
            calls += fmt::format("call make_jobs({}, {});\n", b, std::min(b + step - 1, scale_.batches));
        const int first = scale_.batches * scale_.jobs + 1;
        calls += fmt::format("call make_waiting_workunits({0}, {1}, 2, 3);\ncall make_waiting({0}, {1}, 2, 1, 3);\n",
                             first, scale_.inactive);
        calls += fmt::format("call make_waiting_workunits({0}, {1}, 3, 0);\ncall make_waiting({0}, {1}, 3, 2, 0);\n",
                             first + scale_.inactive, scale_.plain);
        calls += "analyze table result, workunit, host, host_app_version, batch;\n";
        std::vector<std::string> client = server_.client_command();
        client.emplace_back("flow");
        const RunResult r = run(client, {.stdin_text = variables + file + calls}, 3600);
        if (r.status != 0) throw std::runtime_error("generate.sql: " + r.err);
        fmt::print("loaded in {:.0f} s: {} results, {} workunits, {} hosts, {} host_app_versions, {} batches\n\n",
                   now_s() - begin, number_of(db_, Sql("SELECT COUNT(*) FROM result")),
                   number_of(db_, Sql("SELECT COUNT(*) FROM workunit")),
                   number_of(db_, Sql("SELECT COUNT(*) FROM host")),
                   number_of(db_, Sql("SELECT COUNT(*) FROM host_app_version")),
                   number_of(db_, Sql("SELECT COUNT(*) FROM batch")));
        fmt::print("| pass | s | CPU s | peak MB | rows read | statements | aim |\n|---|---|---|---|---|---|---|\n");
    }

    void config(int level) {
        project_.write(
            "config.xml",
            "<boinc><config>" + server_.config_elements("flow") +
                "<shmem_key>0x5eedf10</shmem_key><upload_url>http://x/upload</upload_url>"
                "<dont_generate_upload_certificates>1</dont_generate_upload_certificates><shmem_work_items>" +
                std::to_string(scale_.slots) + "</shmem_work_items><compat_level>" + std::to_string(level) +
                "</compat_level></config></boinc>");
    }

    void pass(const std::string& name, const std::vector<std::string>& args, const std::string& aim) {
        std::vector<std::string> command = args;
        command[0] = bin_ + "/" + args[0];
        const Cost c = measured_run(db_, project_.path().string(), command, (project_ / "log").string());
        row(name, c, aim);
        fmt::print(stderr, "{}\n", c.last_line);
        if (c.status == 0) return;
        failed_ = true;
        fmt::print("FAILED: {} exited with {}\n", name, c.status);
    }
    void row(const std::string& name, const Cost& c, const std::string& aim) {
        fmt::print("| {} | {:.2f} | {:.2f} | {} | {} | {} | {} |\n", name, c.seconds, c.cpu, c.peak_mb, c.rows_read,
                   c.statements, aim);
        std::fflush(stdout);
    }

    /// Reports come in and new jobs are made, as in an hour of such a project.
    void an_hour() {
        db_.execute(
            Sql("UPDATE result SET server_state=5, outcome=1, validate_state=1, received_time=UNIX_TIMESTAMP() "
                "WHERE server_state=4 AND appid=1 ORDER BY id LIMIT 2000"));
        db_.execute(
            Sql("UPDATE workunit w JOIN result r ON r.workunitid=w.id SET w.canonical_resultid=r.id "
                "WHERE r.received_time>UNIX_TIMESTAMP()-60 AND r.server_state=5"));
    }

    /// A scheduler takes a tenth of the array; how long until it is full again?
    void refill() {
        RunOptions options;
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        Subprocess feeder({bin_ + "/feeder"}, options);
        if (!feeder.wait_for_output("The job array is ready", 120)) throw std::runtime_error("feeder: " + feeder.err());
        const auto array = SchedulerArray::attach(array_name());
        const int turns = std::clamp(scale_.slots / 10, 5, kRefillTurns);
        for (const std::uint32_t jobs : {1u, 10u})
            fmt::print(stderr, "{} taken, until they are there again: {}\n", jobs,
                       text_of_times(refill_times(db_, *array, turns, jobs)));
        const ServerCounters before = counters(db_);
        const double begin = now_s();
        std::uint32_t taken = 0;
        std::vector<Id> sent;
        for (std::uint32_t i = 0; i < array->size() && taken < array->size() / 10; ++i) {
            JobSummary job;
            SlotRef ref;
            if (array->read(i, job, ref) != SlotState::kPresent) continue;
            if (auto claim = array->claim(ref)) {
                claim->consume();
                sent.push_back(job.result_id);
                ++taken;
            }
        }
        Sql sql("UPDATE result SET server_state=4 WHERE id IN (");
        db_.execute(sql.ids(sent) << ")");
        const bool full = eventually([&] { return array->stats().present >= array->size(); }, 60);
        Cost c;
        c.seconds = now_s() - begin;
        const ServerCounters after = counters(db_);
        c.rows_read = after.rows - before.rows;
        c.statements = after.statements - before.statements;
        c.peak_mb = peak_mb(feeder.pid());
        row(fmt::format("feeder refills {} slots{}", taken, full ? "" : " (NOT full after 60 s)"), c,
            "a second after they are taken");
        failed_ = failed_ || !full;
        feeder.send_signal(SIGTERM);
        feeder.wait();
    }

    void empty_class(int size_class) {
        Sql sql("UPDATE result SET server_state=5 WHERE appid=2 AND server_state IN (1,2) AND size_class=");
        db_.execute(sql << size_class);
    }
    void fresh_workunits() {
        Sql sql(
            "INSERT INTO workunit (create_time,appid,name,xml_doc,batch,rsc_fpops_est,rsc_fpops_bound,rsc_memory_bound,"
            "rsc_disk_bound,need_validate,canonical_resultid,canonical_credit,transition_time,delay_bound,error_mask,"
            "file_delete_state,assimilate_state,hr_class,opaque,min_quorum,target_nresults,max_error_results,max_total_results,"
            "max_success_results,result_template_file,priority,rsc_bandwidth_bound,fileset_id,app_version_id,transitioner_flags,"
            "keywords,app_version_num) SELECT UNIX_TIMESTAMP(),3,CONCAT('fresh_',n),REPEAT('x',600),0,1e13,1e15,1e8,1e8,0,0,0,"
            "UNIX_TIMESTAMP()-10,604800,0,0,0,0,0,1,1,3,5,2,'templates/out',0,0,0,0,0,'',0 FROM numbers WHERE n<");
        db_.execute(sql << scale_.fresh);
    }
    int fresh() const { return scale_.fresh; }
    bool failed() const { return failed_; }
    int slots() const { return scale_.slots; }

  private:
    JobArrayName array_name() const { return job_array_name(0x5eedf10, std::filesystem::canonical(project_.path())); }

    Scale scale_;
    std::string bin_;  ///< where the programs are
    PrivateMariaDb server_;
    Database db_;
    TempDir project_;
    bool failed_ = false;
};

int bench(const Scale& scale, const std::string& bin) {
    Bench b(scale, bin);
    b.load();
    b.pass("size_census", {"size_census"}, "10 s, 200 MB");
    b.pass("batch_stats, level 0, first", {"batch_stats"}, "10 s, 200 MB");
    b.config(1);
    b.pass("batch_stats, level 1, everything", {"batch_stats", "--full"}, "10 s, 200 MB");
    b.an_hour();
    b.pass("batch_stats, level 1, incremental", {"batch_stats", "--incremental_above", "0"}, "1 s");
    b.pass("batch_upkeep", {"batch_upkeep", "--one_pass"}, "10 s, 200 MB");
    b.config(0);
    b.pass("batch_accel, first", {"batch_accel"}, "10 s, 200 MB");
    b.pass("batch_accel, again", {"batch_accel"}, "10 s, 200 MB");
    b.pass("size_regulator, releases 3 x 5,000",
           {"size_regulator", "--app_name", "app2", "--lo", "1000", "--hi", "5000", "--one_pass"}, "10 s, 200 MB");
    b.empty_class(2);
    b.pass("size_regulator, a class has run dry",
           {"size_regulator", "--app_name", "app2", "--lo", "6000", "--hi", "6000", "--one_pass"}, "10 s, 200 MB");
    b.pass("size_regulator, nothing to do",
           {"size_regulator", "--app_name", "app2", "--lo", "1000", "--hi", "5000", "--one_pass"}, "10 s, 200 MB");
    b.pass(fmt::format("feeder fills {} slots", b.slots()), {"feeder", "--one_pass"}, "2 s for 10,000");
    b.refill();
    b.pass("feeder --allapps fills them", {"feeder", "--one_pass", "--allapps"}, "2 s for 10,000");
    b.fresh_workunits();
    b.pass(fmt::format("transitioner, {} new workunits", b.fresh()), {"transitioner", "--one_pass"},
           "5,000 a second: 20 s");
    return b.failed() ? 1 : 0;
}

const char* const kUsage =
    "flow_bench [SCALE [FOLDER_OF_THE_PROGRAMS [SLOTS]]]\n"
    "SCALE is the size of the project, not a time: 1 (the default) = 1,000,000 results, 3 GB of disk, ten minutes of an\n"
    "idle machine; 0.001 = seconds. SLOTS: of the job array (10,000 x SCALE).\n";

/// The number that `text` is, all of it.
std::optional<double> number(const char* text, double least, double most) {
    char* end = nullptr;
    const double n = std::strtod(text, &end);
    if (end == text || *end != '\0' || !(n >= least && n <= most)) return std::nullopt;
    return n;
}

}  // namespace

int main(int argc, char** argv) {
    const auto scale = argc > 1 ? number(argv[1], 0, 10) : 1.0;
    const auto slots = argc > 3 ? number(argv[3], 10, 1e6) : 0.0;
    if (!scale || !slots || argc > 4) {
        const bool asked = argc == 2 && std::string(argv[1]) == "--help";
        fmt::print(asked ? stdout : stderr, "{}", kUsage);
        return asked ? 0 : 2;
    }
    sluice::test::leave_root(argv);
    try {
        return bench(scaled(*scale, static_cast<int>(*slots)),
                     argc > 2 ? argv[2] : sluice::test::binary_dir() + "/bin");
    } catch (const std::exception& e) {
        fmt::print(stderr, "{}\n", e.what());
        return 1;
    }
}
