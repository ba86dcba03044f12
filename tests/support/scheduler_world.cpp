#include "scheduler_world.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <fstream>
#include <set>
#include <sstream>

#include "database_rows.h"
#include "sluice/base/project.h"
#include "sluice/base/signing.h"
#include "sluice/db/catalogue_store.h"

namespace sluice::test {
namespace {

constexpr const char* kVersionXml = R"(<file_info>
    <name>up_1.0_x86_64-pc-linux-gnu</name>
    <url>http://127.0.0.1/download/up_1.0_x86_64-pc-linux-gnu</url>
    <executable/>
    <nbytes>889080</nbytes>
</file_info>
<app_version>
    <app_name>up</app_name>
    <version_num>100</version_num>
<file_ref>
    <file_name>up_1.0_x86_64-pc-linux-gnu</file_name>
    <main_program/>
</file_ref>
</app_version>
)";

std::string wu_xml(const std::string& name) {
    return fmt::format("<file_info>\n    <name>in_{0}</name>\n    <url>http://127.0.0.1/download/in_{0}</url>\n"
                       "    <md5_cksum>767c41692e4a7753e98f7c12d1e9cc6c</md5_cksum>\n    <nbytes>34</nbytes>\n"
                       "</file_info>\n<workunit>\n<file_ref>\n    <file_name>in_{0}</file_name>\n"
                       "    <open_name>in</open_name>\n</file_ref>\n</workunit>\n",
                       name);
}

std::string result_xml(const std::string& name) {
    return fmt::format("<file_info>\n    <name>{0}_r1_0</name>\n    <generated_locally/>\n    <upload_when_present/>\n"
                       "    <max_nbytes>1000000</max_nbytes>\n    <url>http://127.0.0.1/upload</url>\n</file_info>\n"
                       "<result>\n    <file_ref>\n        <file_name>{0}_r1_0</file_name>\n"
                       "        <open_name>out</open_name>\n    </file_ref>\n</result>\n",
                       name);
}

Workunit a_workunit(Id id) {
    Workunit w;
    w.id = id;
    w.create_time = std::time(nullptr);
    w.appid = 1;
    w.name = fmt::format("wu_{}", id);
    w.xml_doc = wu_xml(w.name);
    w.rsc_fpops_est = 1e10;
    w.rsc_fpops_bound = 1e14;
    w.rsc_memory_bound = 1e7;
    w.rsc_disk_bound = 1e7;
    w.transition_time = kNever;
    w.delay_bound = 7 * 86400;
    w.min_quorum = w.target_nresults = 1;
    w.max_error_results = w.max_total_results = w.max_success_results = 10;
    w.result_template_file = "templates/out";
    return w;
}

Result a_result(Id id, const Workunit& w, int instance) {
    Result r;
    r.id = id;
    r.create_time = w.create_time;
    r.workunitid = w.id;
    r.appid = w.appid;
    r.name = fmt::format("{}_{}", w.name, instance);
    r.xml_doc_in = result_xml(r.name);
    r.priority = w.priority;
    return r;
}

JobSummary summary(const Workunit& w, const Result& r) {
    JobSummary j;
    j.result_id = r.id;
    j.workunit_id = w.id;
    j.app_id = static_cast<std::int32_t>(w.appid);
    j.rsc_fpops_est = w.rsc_fpops_est;
    j.rsc_fpops_bound = w.rsc_fpops_bound;
    j.rsc_memory_bound = w.rsc_memory_bound;
    j.rsc_disk_bound = w.rsc_disk_bound;
    j.delay_bound = static_cast<std::int32_t>(w.delay_bound);
    j.priority = static_cast<std::int32_t>(r.priority);
    j.hr_class = w.hr_class;
    j.app_version_id = static_cast<std::int32_t>(w.app_version_id);
    j.target_nresults = static_cast<std::int16_t>(w.target_nresults);
    j.size_class = static_cast<std::int16_t>(w.size_class);
    return j;
}

template <typename Map>
Id next_id(const Map& a, const Map& b) {
    return std::max(FakeDb::next_id(a), FakeDb::next_id(b));
}

}  // namespace

std::string RequestText::text() const {
    std::ostringstream x;
    const std::size_t dot = client_version.find('.'), dot2 = client_version.find('.', dot + 1);
    x << "<scheduler_request>\n<authenticator>" << authenticator << "</authenticator>\n<hostid>" << hostid
      << "</hostid>\n<rpc_seqno>" << seqno << "</rpc_seqno>\n<core_client_major_version>"
      << client_version.substr(0, dot) << "</core_client_major_version>\n<core_client_minor_version>"
      << client_version.substr(dot + 1, dot2 - dot - 1) << "</core_client_minor_version>\n<core_client_release>"
      << client_version.substr(dot2 + 1) << "</core_client_release>\n<work_req_seconds>" << work_seconds
      << "</work_req_seconds>\n<cpu_req_secs>" << work_seconds << "</cpu_req_secs>\n<cpu_req_instances>0"
      << "</cpu_req_instances>\n<estimated_delay>0</estimated_delay>\n<client_cap_plan_class>1"
      << "</client_cap_plan_class>\n<platform_name>" << platform << "</platform_name>\n";
    if (host_info)
        x << "<time_stats><on_frac>1</on_frac><connected_frac>-1</connected_frac><active_frac>1</active_frac>"
             "<gpu_active_frac>1</gpu_active_frac></time_stats>\n<host_info>\n<timezone>3600</timezone>\n<domain_name>"
          << domain_name << "</domain_name>\n<ip_addr>10.0.0.1</ip_addr>\n<host_cpid>" << cpid
          << "</host_cpid>\n<p_ncpus>" << ncpus << "</p_ncpus>\n<p_vendor>GenuineIntel</p_vendor>\n"
          << "<p_model>Xeon</p_model>\n<p_features>sse sse2 pni</p_features>\n<p_fpops>1e9</p_fpops>\n"
          << "<p_iops>1e9</p_iops>\n<p_membw>1e9</p_membw>\n<m_nbytes>8e9</m_nbytes>\n<m_cache>1e6</m_cache>\n"
          << "<m_swap>0</m_swap>\n<d_total>1e12</d_total>\n<d_free>5e11</d_free>\n<os_name>Linux Debian</os_name>\n"
          << "<os_version>12</os_version>\n</host_info>\n";
    for (const std::string& name : reported)
        x << "<result>\n<name>" << name << "</name>\n<final_cpu_time>1</final_cpu_time>\n"
          << "<final_elapsed_time>2</final_elapsed_time>\n<exit_status>0</exit_status>\n<state>5</state>\n"
          << "<app_version_num>100</app_version_num>\n<stderr_out>\n<core_client_version>8.0.2</core_client_version>\n"
          << "<![CDATA[\nstderr of " << name << "\n]]>\n</stderr_out>\n<file_info><name>out_" << name
          << "</name></file_info>\n</result>\n";
    if (list_others) {
        x << "<other_results>\n";
        for (const std::string& name : others)
            x << "<other_result><name>" << name << "</name><plan_class></plan_class></other_result>\n";
        x << "</other_results>\n";
    }
    x << more << "</scheduler_request>\n";
    return x.str();
}

int ReplyText::count(const std::string& part) const {
    int n = 0;
    for (std::size_t at = run.out.find(part); at != std::string::npos; at = run.out.find(part, at + part.size())) ++n;
    return n;
}

namespace {
std::vector<std::string> between(const std::string& text, const std::string& open, const std::string& close) {
    std::vector<std::string> found;
    for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at + 1)) {
        const std::size_t start = at + open.size(), end = text.find(close, start);
        if (end == std::string::npos) break;
        found.push_back(text.substr(start, end - start));
    }
    return found;
}
}  // namespace

std::string ReplyText::value(const std::string& tag) const {
    const auto found = between(run.out, "<" + tag + ">", "</" + tag + ">");
    return found.empty() ? "" : found.front();
}

std::vector<std::string> ReplyText::result_names() const {
    std::vector<std::string> names;
    for (const std::string& result : between(run.out, "\n<result>", "</result>"))
        for (const std::string& name : between(result, "\n<name>", "</name>")) names.push_back(name);
    return names;
}

std::vector<std::string> ReplyText::messages() const {
    std::vector<std::string> texts;
    for (const std::string& m : between(run.out, "<message priority=", "</message>"))
        texts.push_back(m.substr(m.find('>') + 1));
    return texts;
}

std::string ReplyText::malformed() const {
    const std::string& t = run.out;
    if (run.status != 0) return fmt::format("exit status {} ({})", run.status, run.err);
    if (!t.starts_with("Content-type: text/xml\n\n<scheduler_reply>") &&
        !t.starts_with("Content-type: text/plain\n\n<scheduler_reply>"))
        return "does not start with header and root: " + t.substr(0, 100);
    if (!t.ends_with("</scheduler_reply>\n")) return "does not end with the root";
    if (count("<scheduler_reply>") != 1 || count("</scheduler_reply>") != 1) return "more than one root";
    return "";
}

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
    folder_.write("templates/out",
                  "<file_info>\n<name><OUTFILE_0/></name>\n<generated_locally/>\n<max_nbytes>1000</max_nbytes>\n"
                  "<url><UPLOAD_URL/></url>\n</file_info>\n<result>\n<file_ref>\n<file_name><OUTFILE_0/></file_name>\n"
                  "<open_name>out</open_name>\n</file_ref>\n</result>\n");
    std::filesystem::create_directories(folder() / "cgi-bin");
    config(more_config);
    rows.platforms[1] = {1, kPlatform, "Linux", false};
    rows.platforms[2] = {2, "anonymous", "anonymous", false};
    App app;
    app.id = 1;
    app.name = "up";
    app.user_friendly_name = "Upcase";
    rows.apps[1] = app;
    AppVersion version;
    version.id = 1;
    version.appid = version.platformid = 1;
    version.version_num = 100;
    version.xml_doc = kVersionXml;
    rows.versions[1] = version;
    add_user("alice", kKey);
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
                              db_name_, db.user, db.password, shmem_key_, more_config));
}

void SchedulerWorld::store() {
    store_rows(*db_, rows);
    rows = FakeDb{};
}

Id SchedulerWorld::add_user(const std::string& name, const std::string& key) {
    User u;
    u.id = FakeDb::next_id(rows.users);
    if (const auto most = rows.users.empty() ? number(Sql("SELECT COALESCE(MAX(id),0) FROM user")) : 0; most > 0)
        u.id = most + 1;
    u.create_time = std::time(nullptr) - 1000;
    u.email_addr = name + "@example.org";
    u.name = name;
    u.authenticator = key;
    u.cross_project_id = "cpid-of-" + name;
    rows.users[u.id] = u;
    return u.id;
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
        Workunit w = a_workunit(++wu);
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
        const Workunit w = a_workunit(++wu);
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
    array_ = JobArray::create(job_array_name(shmem_key_, std::filesystem::canonical(folder())), settings);
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
        while (slot < array_->size() && !array_->publish(slot, summary(w, r), {w.name, w.xml_doc, w.keywords, r.name}))
            ++slot;
    }
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

std::string SchedulerWorld::program() { return std::string(SLUICE_BINARY_DIR) + "/tests/cgi_with_test_points"; }

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

ReplyText SchedulerWorld::send(const RequestText& request, std::map<std::string, std::string> env) {
    return send_raw(request.text(), std::move(env));
}
ReplyText SchedulerWorld::send_raw(const std::string& body, std::map<std::string, std::string> env) {
    return {test::run({program()}, run_options(body, std::move(env)))};
}
std::unique_ptr<Subprocess> SchedulerWorld::start(const RequestText& request, std::map<std::string, std::string> env) {
    return std::make_unique<Subprocess>(std::vector<std::string>{program()}, run_options(request.text(), std::move(env)));
}

std::string SchedulerWorld::log() const {
    std::ifstream in(log_dir(folder()) / "scheduler.log", std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

std::int64_t SchedulerWorld::questions() {
    return number(Sql("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='QUESTIONS'"));
}

}  // namespace sluice::test
