// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/db/batch/batch_fixture.h"

#include <ctime>
#include "tests/support/paths.h"

namespace sluice::test {

std::string BatchFixture::database_name() {
    static const bool made = [] {
        PrivateMariaDb::shared().create_project_database("batches");
        return true;
    }();
    return made ? "batches" : "";
}

BatchFixture::BatchFixture() : now(std::time(nullptr)), db(PrivateMariaDb::shared().settings(database_name())) {
    truncate_all_tables(db);
    for (const SqlLiteral table :
         {SqlLiteral("sluice_accel_job"), SqlLiteral("sluice_accel_result"), SqlLiteral("sluice_host_ltt"),
          SqlLiteral("sluice_marks"), SqlLiteral("sluice_batch_event"), SqlLiteral("sluice_share_clock"),
          SqlLiteral("sluice_share_user"), SqlLiteral("sluice_share_batch")}) {
        Sql sql("DROP TABLE IF EXISTS ");
        db.execute(sql << table);
    }
    config("");
    app(1);
}
BatchFixture::~BatchFixture() = default;

App& BatchFixture::app(Id id, int n_size_classes) {
    App& a = world.apps[id];
    a.id = id;
    a.name = "app" + std::to_string(id);
    a.n_size_classes = n_size_classes;
    return a;
}

Host& BatchFixture::host(Id id) {
    Host& h = world.hosts[id];
    h.id = id;
    h.userid = 1;
    return h;
}

Batch& BatchFixture::batch(Id id, Id app_id, BatchState state) {
    Batch& b = world.batches[id];
    b.id = id;
    b.app_id = app_id;
    b.state = state;
    b.create_time = now - 86400;
    b.name = "batch_" + std::to_string(id);
    return b;
}

Workunit& BatchFixture::job(Id batch_id) {
    const Id id = world.workunits.next_key();
    Workunit& w = world.workunits[id];
    w.id = id;
    w.name = "wu_" + std::to_string(id);
    w.appid = world.batches.contains(batch_id) ? world.batches[batch_id].app_id : 1;
    w.batch = batch_id;
    w.rsc_fpops_est = 1e12;
    w.min_quorum = w.target_nresults = 1;
    w.max_error_results = 3;
    w.max_total_results = 5;
    w.max_success_results = 3;
    w.transition_time = kNever;
    w.create_time = now - 86400;
    return w;
}

Result& BatchFixture::instance(const Workunit& wu, ServerState state, Id host_id) {
    const Id id = next_result_++;
    Result& r = world.results[id];
    r.id = id;
    r.workunitid = wu.id;
    r.name = wu.name + "_" + std::to_string(id);
    r.appid = wu.appid;
    r.batch = wu.batch;
    r.server_state = state;
    r.hostid = host_id;
    r.priority = wu.priority;
    r.create_time = now - 86400;
    r.app_version_id = host_id == 0 ? 0 : 7;
    if (host_id != 0) host(host_id);
    return r;
}

Result& BatchFixture::success(Id batch_id, Id host_id, std::int64_t turnaround, std::int64_t ago) {
    Workunit& wu = job(batch_id);
    Result& r = instance(wu, ServerState::kOver, host_id);
    r.outcome = Outcome::kSuccess;
    r.validate_state = ValidateState::kValid;
    r.received_time = now - ago;
    r.sent_time = r.received_time - turnaround;
    r.report_deadline = r.sent_time + 7 * 86400;
    wu.canonical_resultid = r.id;
    wu.canonical_credit = 2;
    wu.assimilate_state = AssimilateState::kDone;
    return r;
}

Result& BatchFixture::unsuccessful(Id batch_id, Id host_id, Outcome outcome) {
    Result& r = instance(job(batch_id), ServerState::kOver, host_id);
    r.outcome = outcome;
    r.sent_time = now - 80000;
    r.report_deadline = now - 1000;
    r.received_time = outcome == Outcome::kNoReply ? 0 : now - 2000;
    return r;
}

Result& BatchFixture::in_progress(Id batch_id, Id host_id, std::int64_t age) {
    Result& r = instance(job(batch_id), ServerState::kInProgress, host_id);
    r.sent_time = now - age;
    r.report_deadline = r.sent_time + 7 * 86400;
    return r;
}

Result& BatchFixture::unsent(Id batch_id) { return instance(job(batch_id), ServerState::kUnsent); }

void BatchFixture::measured_batch(Id id, Id app_id, int hosts, int slow_every) {
    batch(id, app_id);
    for (int i = 1; i <= hosts; ++i) success(id, i, i % slow_every == 0 ? 2000 : i % 2 == 0 ? 1000 : 500);
}

void BatchFixture::store() { store_rows(db, world); }

void BatchFixture::config(const std::string& more, int compat_level) {
    project.write("config.xml", "<boinc><config>" + PrivateMariaDb::shared().config_elements(database_name()) +
                                    "<shmem_key>0x1</shmem_key><compat_level>" + std::to_string(compat_level) +
                                    "</compat_level>" + more + "</config></boinc>");
    std::filesystem::create_directories(project / "bin");
}

RunOptions BatchFixture::options() const {
    RunOptions o;
    o.unset = {"BOINC_PROJECT_DIR"};
    o.cwd = project / "bin";  // as upstream's tasks are run by hand
    return o;
}

RunResult BatchFixture::run_program(std::vector<std::string> args, double timeout) {
    args[0] = sluice::test::binary_dir() + "/bin/" + args[0];
    return run(args, options(), timeout);
}

Subprocess BatchFixture::start_program(std::vector<std::string> args) {
    args[0] = sluice::test::binary_dir() + "/bin/" + args[0];
    return Subprocess(args, options());
}

bool BatchFixture::others_are_gone() {
    const Sql others("SELECT COUNT(*) FROM information_schema.processlist WHERE db=DATABASE() AND id<>CONNECTION_ID()");
    return eventually([&] { return number(others) == 0; });
}

std::string BatchFixture::run_ok(const std::vector<std::string>& args) {
    const RunResult r = run_program(args);
    EXPECT_EQ(r.status, 0) << args[0] << ":\n" << r.out << r.err;
    return r.out + r.err;
}

}  // namespace sluice::test
