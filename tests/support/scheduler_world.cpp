// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/scheduler_world.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "sluice/base/project.h"
#include "sluice/base/signing.h"
#include "sluice/db/account_store.h"
#include "sluice/db/catalogue_store.h"
#include "tests/support/database_rows.h"
#include "tests/support/paths.h"
#include "tests/support/project_layout.h"
#include "tests/support/project_rows.h"

namespace sluice::test {
SchedulerWorld::SchedulerWorld(const std::string& more_config) {
    static std::atomic<int> number{0};
    const int n = ++number;
    db_name_ = fmt::format("world{}", n);
    db_ = std::make_unique<Database>(PrivateMariaDb::shared().create_project_database(db_name_));
    shmem_key_ = 0x11110000 + ::getpid() % 30000 + n;
    const KeyPairText keys = generate_key_pair(), uploads = generate_key_pair();
    folder_.write("keys/code_sign_public", keys.public_key);
    folder_.write("keys/upload_private", uploads.private_key);
    folder_.write("keys/upload_public", uploads.public_key);
    folder_.write("templates/out", kOutputTemplate);
    std::filesystem::create_directories(folder() / "cgi-bin");
    config(more_config);
    lay_out_for_web_server(folder());
    std::filesystem::create_directories(gate("").parent_path());
    std::filesystem::permissions(gate("").parent_path(), std::filesystem::perms(0777));
    rows = small_project();
    store();
}
SchedulerWorld::~SchedulerWorld() { stop_feeder(); }

void SchedulerWorld::config(const std::string& more_config) {
    const DbSettings db = PrivateMariaDb::shared().settings(db_name_);
    folder_.write("config.xml",
                  fmt::format("<boinc><config>\n<master_url>http://127.0.0.1/test/</master_url>\n"
                              "<long_name>Test</long_name>\n<db_name>{}</db_name>\n<db_user>{}</db_user>\n"
                              "<db_passwd>{}</db_passwd>\n<db_host>localhost</db_host>\n<shmem_key>{}</shmem_key>\n"
                              "<upload_url>http://127.0.0.1/upload</upload_url>\n<sched_debug_level>4"
                              "</sched_debug_level>\n<daily_result_quota>500</daily_result_quota>\n{}\n"
                              "</config></boinc>\n",
                              db_name_, db.user, db.password, shmem_key_, httpd_user_element() + more_config));
}

void SchedulerWorld::store() {
    store_rows(*db_, rows);
    rows = FakeDb{};
}

Id SchedulerWorld::add_user(const std::string& name, const std::string& key) {
    const Id id = number(Sql("SELECT COALESCE(MAX(id),0)+1 FROM user"));
    rows.users[id] = a_user(id, name, key);
    store();
    return id;
}

Id SchedulerWorld::add_host(Id userid, int ncpus) {
    Host h;
    h.id = number(Sql("SELECT COALESCE(MAX(id),0)+1 FROM host"));
    h.create_time = std::time(nullptr) - 10000;
    h.userid = userid;
    h.rpc_time = std::time(nullptr) - 1000;
    h.p_ncpus = ncpus;
    h.p_vendor = "GenuineIntel";
    h.p_model = "Xeon";
    h.os_name = "Linux Debian";
    h.os_version = "12";
    h.domain_name = fmt::format("box{}", h.id);
    h.last_ip_addr = "10.0.0.1";
    h.m_nbytes = 8e9;
    rows.hosts[h.id] = h;
    store();
    return h.id;
}

std::vector<Id> SchedulerWorld::add_jobs(int workunits, int instances, const std::function<void(Workunit&)>& change) {
    Id wu = number(Sql("SELECT COALESCE(MAX(id),0) FROM workunit"));
    Id id = number(Sql("SELECT COALESCE(MAX(id),0) FROM result"));
    std::vector<Id> ids;
    for (int i = 0; i < workunits; ++i) {
        Workunit w = a_workunit(++wu, std::time(nullptr));
        if (change) change(w);
        for (int k = 0; k < instances; ++k) {
            Result r = a_result(++id, w, k);
            ids.push_back(r.id);
            rows.results[r.id] = r;
        }
        rows.workunits[w.id] = w;
    }
    store();
    return ids;
}

std::vector<std::string> SchedulerWorld::add_in_progress(Id hostid, int n, Id userid) {
    Id wu = number(Sql("SELECT COALESCE(MAX(id),0) FROM workunit"));
    Id id = number(Sql("SELECT COALESCE(MAX(id),0) FROM result"));
    std::vector<std::string> names;
    for (int i = 0; i < n; ++i) {
        const Workunit w = a_workunit(++wu, std::time(nullptr));
        Result r = a_result(++id, w, 0);
        r.server_state = ServerState::kInProgress;
        r.hostid = hostid;
        r.userid = userid;
        r.sent_time = std::time(nullptr) - 1000;
        r.report_deadline = r.sent_time + w.delay_bound;
        r.app_version_id = 1;
        names.push_back(r.name);
        rows.results[r.id] = r;
        rows.workunits[w.id] = w;
    }
    store();
    return names;
}

void SchedulerWorld::start_feeder(std::uint32_t slots) {
    JobArraySettings settings;
    settings.slots = slots;
    if (accounts_apart()) settings.users = {account_name(Role::kWeb)};
    prepare_host_attempts(*db_);
    array_ = FeederArray::create(array_name(), settings);
    fill();
    array_->set_ready(true);
}

void SchedulerWorld::fill() {
    array_->publish_tables(make_catalogue_store(*db_)->load_tables());
    const FakeDb now = load_rows(*db_);
    std::set<Id> there;
    for (std::uint32_t i = 0; i < array_->size(); ++i) {
        JobSummary job;
        SlotRef ref;
        if (array_->read(i, job, ref) == SlotState::kPresent) there.insert(job.result_id);
    }
    std::uint32_t slot = 0;
    for (const auto& [id, r] : now.results) {
        if (r.server_state != ServerState::kUnsent || there.contains(id)) continue;
        const Workunit& w = now.workunits.at(r.workunitid);
        while (slot < array_->size() &&
               !array_->publish(slot, summary_of_rows(w, r), {w.name, w.xml_doc, w.keywords, r.name}))
            ++slot;
    }
}

JobArrayName SchedulerWorld::array_name() const {
    return job_array_name(shmem_key_, std::filesystem::canonical(folder()));
}

void SchedulerWorld::stop_feeder() {
    if (array_) array_->close_and_remove();
    array_.reset();
}

int SchedulerWorld::slots(SlotState state) {
    int n = 0;
    for (std::uint32_t i = 0; i < array_->size(); ++i) {
        JobSummary job;
        SlotRef ref;
        if (array_->read(i, job, ref) == state) ++n;
    }
    return n;
}

std::string SchedulerWorld::program() { return sluice::test::binary_dir() + "/tests/cgi_with_test_points"; }

RunOptions SchedulerWorld::run_options(const std::string& body, std::map<std::string, std::string> env) const {
    RunOptions options;
    options.env = std::move(env);
    options.env["REQUEST_METHOD"] = "POST";
    options.env.emplace("CONTENT_LENGTH", std::to_string(body.size()));
    options.env.emplace("REMOTE_ADDR", "127.0.0.1");
    options.unset = {"BOINC_PROJECT_DIR", "HTTP_X_FORWARDED_FOR"};
    options.stdin_text = body;
    options.cwd = folder() / "cgi-bin";
    return options;
}

RunOptions SchedulerWorld::as_web_server(const std::string& body, std::map<std::string, std::string> env) const {
    RunOptions options = run_options(body, std::move(env));
    options.run_as = Role::kWeb;
    return options;
}

ReplyText SchedulerWorld::send(const RequestText& request, std::map<std::string, std::string> env) {
    return send_raw(request.text(), std::move(env));
}
ReplyText SchedulerWorld::send_raw(const std::string& body, std::map<std::string, std::string> env) {
    return {test::run({program()}, as_web_server(body, std::move(env)))};
}
std::unique_ptr<Subprocess> SchedulerWorld::start(const RequestText& request, std::map<std::string, std::string> env) {
    return std::make_unique<Subprocess>(std::vector<std::string>{program()},
                                        as_web_server(request.text(), std::move(env)));
}

std::string SchedulerWorld::log() const {
    std::ifstream in(log_dir(folder()) / "scheduler.log", std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

std::int64_t SchedulerWorld::questions(int connected) {
    const Sql others("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB=DATABASE() AND ID<>CONNECTION_ID()");
    while (++waits_, number(others) != connected) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return number(Sql("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='QUESTIONS'")) -
           waits_;
}

}  // namespace sluice::test
