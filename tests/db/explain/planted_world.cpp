// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/db/explain/planted_world.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <sstream>

#include "sluice/db/catalogue_store.h"
#include "sluice/match/job_summary_of.h"
#include "tests/support/database_rows.h"
#include "tests/support/paths.h"
#include "tests/support/segment_files.h"

namespace sluice::test {
namespace {

SchedulerWorld& shared_world() {
    static SchedulerWorld world;
    return world;
}

void write(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

void empty_tables(Database& db) {
    db.execute(Sql("DELETE FROM result"));
    db.execute(Sql("DELETE FROM workunit"));
    db.execute(Sql("DELETE FROM host_app_version"));
    db.execute(Sql("DELETE FROM host"));
    db.execute(Sql("DELETE FROM user"));
    db.execute(Sql("DELETE FROM app_version"));
    db.execute(Sql("DELETE FROM app"));
    db.execute(Sql("DELETE FROM platform"));
    db.execute(Sql("DELETE FROM assignment"));
}

/// As the feeder does it.
void fill(SchedulerWorld& world, int reliable_on_priority, const Planted& planted) {
    ProjectTables tables = make_catalogue_store(world.db())->load_tables();
    for (const auto& [app, borders] : planted.quantiles) tables.size_quantiles[app] = borders;
    tables.plan = planted.plan;
    world.array().publish_tables(tables);
    const FakeDb now = load_rows(world.db());
    std::uint32_t slot = 0;
    for (const auto& [id, r] : now.results) {
        if (r.server_state != ServerState::kUnsent) continue;
        const Workunit& w = now.workunits.at(r.workunitid);
        ASSERT_TRUE(world.array().publish(slot++, job_summary_of(w, r, reliable_on_priority, std::time(nullptr)),
                                          {w.name, w.xml_doc, w.keywords, r.name}));
    }
}

Workunit a_workunit(Id id) {
    Workunit w;
    w.id = id;
    w.create_time = std::time(nullptr);
    w.appid = 1;
    w.name = fmt::format("wu_{}", id);
    w.xml_doc = "<workunit>\n<file_ref>\n<file_name>in</file_name>\n</file_ref>\n</workunit>\n";
    w.rsc_fpops_est = 1e10;
    w.rsc_fpops_bound = 1e14;
    w.rsc_memory_bound = w.rsc_disk_bound = 1e7;
    w.transition_time = kNever;
    w.delay_bound = 7 * 86400;
    w.min_quorum = w.target_nresults = 1;
    w.max_error_results = w.max_total_results = w.max_success_results = 10;
    w.result_template_file = "templates/out";
    return w;
}

Result a_result(Id id, const Workunit& w) {
    Result r;
    r.id = id;
    r.create_time = w.create_time;
    r.workunitid = w.id;
    r.appid = w.appid;
    r.name = fmt::format("{}_{}", w.name, id);
    r.xml_doc_in = "<result>\n<file_ref>\n<file_name>out</file_name>\n</file_ref>\n</result>\n";
    return r;
}

std::string content(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

}  // namespace

Planted::Planted() {
    rows.platforms[1] = {1, kPlatform, "Linux", false};
    App a;
    a.id = 1;
    a.name = "up";
    a.user_friendly_name = "Upcase";
    rows.apps[1] = a;
    AppVersion v;
    v.id = v.appid = v.platformid = 1;
    v.version_num = 100;
    v.xml_doc = "<app_version>\n<app_name>up</app_name>\n<version_num>100</version_num>\n</app_version>\n";
    rows.versions[1] = v;
    User u;
    u.id = 1;
    u.create_time = std::time(nullptr) - 1000;
    u.email_addr = "alice@example.org";
    u.name = "alice";
    u.authenticator = kKey;
    rows.users[1] = u;
    Host h;
    h.id = 1;
    h.userid = 1;
    h.create_time = std::time(nullptr) - 10000;
    h.rpc_time = std::time(nullptr) - 5;
    h.on_frac = h.active_frac = h.gpu_active_frac = 1;
    h.p_ncpus = 4;
    h.p_vendor = "GenuineIntel";
    h.p_model = "Xeon";
    h.p_fpops = 1e9;
    h.os_name = "Linux Debian";
    h.os_version = "12";
    h.m_nbytes = 8e9;
    h.d_total = 1e12;
    h.d_free = 5e11;
    h.misc = R"({"client_version":"8.0.2"})";
    rows.hosts[1] = h;
    rows.workunits[1] = a_workunit(1);
    rows.results[1] = a_result(1, rows.workunits[1]);
    request.hostid = 1;
    request.work_seconds = 1000;
}

void Planted::plan_class(const std::string& elements, const std::string& name) {
    version().plan_class = name;
    plan_classes =
        "<plan_classes>\n<plan_class>\n<name>" + name + "</name>\n" + elements + "\n</plan_class>\n</plan_classes>\n";
}

void Planted::nvidia(bool opencl, double seconds) {
    request.more += fmt::format(
        "<coprocs><coproc_cuda><count>1</count><name>RTX</name><available_ram>8e9</available_ram><have_cuda>1</have_cuda>"
        "<have_opencl>{0}</have_opencl><req_secs>{1}</req_secs><req_instances>{2}</req_instances><estimated_delay>0</estimated_delay>"
        "<peak_flops>2e13</peak_flops><cudaVersion>12020</cudaVersion><drvVersion>53554</drvVersion><totalGlobalMem>8e9</totalGlobalMem>"
        "<major>8</major><minor>6</minor>{3}</coproc_cuda></coprocs>\n",
        opencl ? 1 : 0, seconds, seconds > 0 ? 1 : 0,
        opencl
            ? "<coproc_opencl><name>RTX</name><vendor>NVIDIA Corporation</vendor><double_fp_config>63</double_fp_config>"
              "<global_mem_size>8e9</global_mem_size><opencl_device_version>OpenCL 3.0 CUDA</opencl_device_version></coproc_opencl>"
            : "");
}

Result& Planted::in_progress(Id hostid, Id wu) {
    if (wu == 0) {
        wu = rows.workunits.next_key();
        rows.workunits[wu] = a_workunit(wu);
    }
    const Id id = rows.results.next_key();
    Result& r = rows.results[id] = a_result(id, rows.workunits[wu]);
    r.server_state = ServerState::kInProgress;
    r.hostid = hostid;
    r.userid = 1;
    r.app_version_id = 1;
    r.sent_time = std::time(nullptr) - 1000;
    r.report_deadline = r.sent_time + 7 * 86400;
    if (hostid == 1) request.others.push_back(r.name);
    return r;
}

Workunit& Planted::another_job() {
    const Id id = rows.workunits.next_key();
    Workunit w = workunit();
    w.id = id;
    w.name = fmt::format("wu_{}", id);
    rows.workunits[id] = w;
    const Id rid = rows.results.next_key();
    rows.results[rid] = a_result(rid, w);
    return rows.workunits[id];
}

SchedulerWorld& Planted::world() const { return shared_world(); }

std::string Planted::request_text() const {
    std::string text = request.text();
    for (const auto& [from, to] : edits) {
        const std::size_t at = text.find(from);
        if (at == std::string::npos) throw std::runtime_error("the request holds no " + from);
        text.replace(at, from.size(), to);
    }
    return text;
}

void Planted::store() {
    SchedulerWorld& w = world();
    w.stop_feeder();
    empty_tables(w.db());
    w.config(config);
    for (const char* name : {"config_aux.xml", "plan_class_spec.xml", "kw_prefs/1", "log_test"})
        std::filesystem::remove_all(w.folder() / name);
    if (!config_aux.empty()) write(w.folder() / "config_aux.xml", "<config>" + config_aux + "</config>");
    if (!plan_classes.empty()) write(w.folder() / "plan_class_spec.xml", plan_classes);
    for (std::size_t i = 0; i + 1 < files.size(); i += 2) write(w.folder() / files[i], files[i + 1]);
    write(w.folder() / "request.xml", request_text());
    w.start_feeder(slots);  // nothing is unsent yet
    w.rows = rows;
    w.store();
    const auto found = config.find("<reliable_on_priority>");
    fill(w, found == std::string::npos ? 0 : std::stoi(config.substr(found + 22)), *this);
    if (after_fill) after_fill(w.db());
}

std::string state_of(const Planted& p) {
    const SchedulerWorld& w = p.world();
    std::string all;
    for (const auto& file : segment_files(w.array_name())) all += file.string() + content(file);
    EXPECT_GT(all.size(), 10000u) << "the segment was not found";
    Database& db = p.world().db();
    Rows tables =
        db.query(Sql("SELECT table_name FROM information_schema.tables WHERE table_schema=DATABASE() ORDER BY 1"));
    while (tables.next()) {
        Rows sum = db.query((Sql("CHECKSUM TABLE ").identifier(tables.text(0)) << " EXTENDED"));
        sum.next();
        all += tables.text(0) + "=" + sum.text(1) + "\n";
    }
    for (const auto& file : std::filesystem::recursive_directory_iterator(w.folder()))
        if (file.is_regular_file()) all += file.path().string() + content(file.path());
    return all;
}

RunResult explain(const Planted& planted, const std::vector<std::string>& args) {
    std::vector<std::string> all{sluice::test::binary_dir() + "/bin/sched_explain"};
    all.insert(all.end(), args.begin(), args.end());
    RunOptions options;
    options.cwd = planted.world().folder();
    options.unset = {"BOINC_PROJECT_DIR"};
    return run(all, options);
}

std::string explained(const Planted& planted, std::vector<std::string> args) {
    args.push_back("--json");
    const RunResult r = explain(planted, args);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.err, "");
    return r.out;
}

}  // namespace sluice::test
