// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/test_project.h"

#include <fmt/core.h>

#include <fstream>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/signing.h"
#include "tests/support/database_rows.h"
#include "tests/support/paths.h"
#include "tests/support/project_layout.h"

namespace sluice::test {
namespace {

/// Generated once a test program: half a second of RSA.
const KeyPairText& keys() {
    static const KeyPairText pair = generate_key_pair();
    return pair;
}

void fill_rows(FakeDb& rows) {
    User user;
    user.id = 1;
    user.name = "alice";
    user.email_addr = "alice@example.org";
    user.authenticator = kTestKey;
    user.cross_project_id = "aaaabbbbccccddddeeeeffff00001111";
    user.passwd_hash = "x";
    user.create_time = 1000000000;
    rows.users[1] = user;
    rows.platforms[1] = {1, "x86_64-pc-linux-gnu", "Linux", false};
    App app;
    app.id = 1;
    app.name = "up";
    app.user_friendly_name = "Upcase";
    rows.apps[1] = app;
    AppVersion version;
    version.id = version.appid = version.platformid = 1;
    version.version_num = 100;
    version.xml_doc =
        "<file_info>\n    <name>up_1.0</name>\n    <url>http://127.0.0.1/up_1.0</url>\n    <executable/>\n    <nbytes>1</nbytes>\n"
        "</file_info>\n<app_version>\n    <app_name>up</app_name>\n    <version_num>100</version_num>\n<file_ref>\n"
        "    <file_name>up_1.0</file_name>\n    <main_program/>\n</file_ref>\n</app_version>\n";
    rows.versions[1] = version;
}

}  // namespace

TestProject::TestProject(PrivateMariaDb& server, const std::string& name, const std::string& options)
    : TestProject(server, name, options, server.create_project_database(name)) {}

TestProject::TestProject(PrivateMariaDb& server, const TestProject& first)
    : TestProject(server, first.name_, first.options_, server.settings(first.name_)) {}

TestProject::TestProject(PrivateMariaDb& server, const std::string& name, const std::string& options,
                         const DbSettings& database)
    : server_(server), name_(name), options_(options), db_(database) {
    namespace fs = std::filesystem;
    // The web server's user reads the project, writes logs and uploads, and connects to the database. Where accounts
    // are apart it writes what make_project lets it write, and nothing else.
    fs::permissions(folder_.path(), fs::perms(accounts_apart() ? 0755 : 0777));
    server.admit_web_server();
    for (const char* sub : {
             "bin",
             "cgi-bin",
             "keys",
             "upload",
             "download",
             "html/user",
             "templates",
         })
        fs::create_directories(folder_ / sub);
    for (const char* key : {"upload", "code_sign"}) {
        folder_.write(std::string("keys/") + key + "_private", keys().private_key);
        folder_.write(std::string("keys/") + key + "_public", keys().public_key);
    }
    if (!accounts_apart()) fs::permissions(folder_ / "upload", fs::perms(0777));
    write_config();
    lay_out_for_web_server(folder_.path());
    fill_rows(rows_);
}

TestProject::~TestProject() { stop_daemons(); }

void TestProject::write_config() const {
    folder_.write(
        "config.xml",
        fmt::format(
            "<boinc>\n<config>\n{0}"
            "<master_url>{1}</master_url>\n<long_name>Test project</long_name>\n<shmem_key>0x{2:x}</shmem_key>\n<key_dir>{3}/keys</key_dir>\n"
            "<download_url>{1}download</download_url>\n<download_dir>{3}/download</download_dir>\n<upload_url>{4}_cgi/file_upload_handler</upload_url>\n"
            "<upload_dir>{3}/upload</upload_dir>\n<uldl_dir_fanout>{6}</uldl_dir_fanout>\n<daily_result_quota>500</daily_result_quota>\n"
            "<cache_md5_info>1</cache_md5_info>\n{5}\n</config>\n</boinc>\n",
            server_.config_elements(name_) + httpd_user_element(), url_,
            0x10000000u + static_cast<unsigned>(::getpid()), folder_.path().string(), url_.substr(0, url_.size() - 1),
            options_, kTestFanout));
}

void TestProject::set_port(int port) {
    url_ = fmt::format("http://127.0.0.1:{}/test/", port);
    write_config();
}

void TestProject::store() { store_rows(db_, rows_); }

/// The first one is built here, the others are copies that the server makes.
void TestProject::add_unsent_jobs(int n, int xml_bytes) {
    if (n <= 0) return;
    FakeDb one;
    Workunit w;
    w.id = count(Sql("SELECT COALESCE(MAX(id),0) FROM workunit")) + 1;
    w.appid = 1;
    w.name = fmt::format("wu_{}", w.id);
    w.xml_doc = fmt::format("<workunit>\n<command_line>\n{}\n</command_line>\n</workunit>\n",
                            std::string(static_cast<std::size_t>(xml_bytes), 'x'));
    w.rsc_fpops_est = 1e12;
    w.rsc_fpops_bound = 1e15;
    w.rsc_memory_bound = 1e7;
    w.rsc_disk_bound = 1e7;
    w.delay_bound = 604800;
    w.min_quorum = w.target_nresults = 1;
    w.max_error_results = w.max_total_results = w.max_success_results = 3;
    w.transition_time = kNever;
    w.result_template_file = "templates/up_out";
    one.workunits[w.id] = w;
    Result r;
    r.id = r.workunitid = w.id;
    r.appid = 1;
    r.name = w.name + "_0";
    r.server_state = ServerState::kUnsent;
    r.xml_doc_in = "<result>\n</result>\n";
    one.results[r.id] = r;
    store_rows(db_, one);
    if (n == 1) return;
    Sql first("SET @first="), copies(", @copies=");
    db_.execute(first << w.id << copies << n - 1);
    const auto run_copying = [&] {  // MySQL has no EXECUTE IMMEDIATE
        db_.execute(Sql("PREPARE copying FROM @copying"));
        db_.execute(Sql("EXECUTE copying"));
        db_.execute(Sql("DEALLOCATE PREPARE copying"));
    };
    db_.execute(
        Sql("SET @rest=(SELECT GROUP_CONCAT(CONCAT('`',column_name,'`')) FROM information_schema.columns "
            "WHERE table_schema=database() AND table_name='workunit' AND column_name NOT IN ('id','name'))"));
    db_.execute(
        Sql("SET @copying=CONCAT('INSERT INTO workunit(id,name,',@rest,') SELECT id+seq,CONCAT(''wu_'',id+seq),',"
            "@rest,' FROM workunit,seq_1_to_',@copies,' WHERE id=',@first)"));
    run_copying();
    db_.execute(Sql(
        "SET @rest=(SELECT GROUP_CONCAT(CONCAT('`',column_name,'`')) FROM information_schema.columns "
        "WHERE table_schema=database() AND table_name='result' AND column_name NOT IN ('id','workunitid','name'))"));
    db_.execute(Sql(
        "SET @copying=CONCAT('INSERT INTO result(id,workunitid,name,',@rest,') SELECT "
        "id+seq,id+seq,CONCAT(''wu_'',id+seq,''_0''),',@rest,' FROM result,seq_1_to_',@copies,' WHERE id=',@first)"));
    run_copying();
}

void TestProject::write_templates(int max_nbytes) const {
    folder_.write("templates/up_in",
                  "<file_info>\n</file_info>\n<workunit>\n<file_ref>\n<open_name>in</open_name>\n</file_ref>\n"
                  "</workunit>\n");
    folder_.write(
        "templates/up_out",
        fmt::format("<file_info>\n<name><OUTFILE_0/></name>\n<generated_locally/>\n<max_nbytes>{}</max_nbytes>\n"
                    "<url><UPLOAD_URL/></url>\n</file_info>\n<result>\n<file_ref>\n"
                    "<file_name><OUTFILE_0/></file_name>\n<open_name>out</open_name>\n</file_ref>\n</result>\n",
                    max_nbytes));
}

std::filesystem::path TestProject::input_file(const std::string& name) const {
    return fanout_path(folder_ / "download", name, kTestFanout);
}

std::filesystem::path TestProject::output_file(const std::string& name) const {
    return fanout_path(folder_ / "upload", name, kTestFanout);
}

void TestProject::stage_input(const std::string& name) const {
    std::filesystem::create_directories(input_file(name).parent_path());
    write_file_atomically(input_file(name), "input " + name);
}

std::map<std::string, std::string> TestProject::env() const {
    return {{"BOINC_PROJECT_DIR", folder_.path().string()}, {"MYSQL_UNIX_PORT", server_.socket().string()}};
}

RunOptions TestProject::run_options() const {
    RunOptions options;
    options.env = env();
    options.cwd = folder_ / "bin";
    return options;
}

RunOptions TestProject::web_request(const std::string& body) const {
    RunOptions options = run_options();
    options.cwd = folder_ / "cgi-bin";
    options.stdin_text = body;
    options.env["REQUEST_METHOD"] = "POST";
    options.env["CONTENT_LENGTH"] = std::to_string(body.size());
    options.env["REMOTE_ADDR"] = "127.0.0.1";
    options.run_as = Role::kWeb;
    return options;
}

RunResult TestProject::run_program(const std::string& program, const std::vector<std::string>& args) {
    std::vector<std::string> command{sluice::test::binary_dir() + "/bin/" + program};
    command.insert(command.end(), args.begin(), args.end());
    return run(command, run_options());
}

RunResult TestProject::rpc(const std::string& request) {
    return run({sluice::test::binary_dir() + "/cgi-bin/cgi"}, web_request(request));
}

Subprocess& TestProject::start(const std::string& program, const std::vector<std::string>& args) {
    std::vector<std::string> command{sluice::test::binary_dir() + "/bin/" + program};
    command.insert(command.end(), args.begin(), args.end());
    daemons_.push_back(std::make_unique<Subprocess>(command, run_options()));
    return *daemons_.back();
}

Subprocess& TestProject::start_feeder(const std::vector<std::string>& args) {
    Subprocess& feeder = start("feeder", args);
    if (!feeder.wait_for_output("ready")) throw std::runtime_error("the feeder does not become ready: " + feeder.err());
    return feeder;
}

void TestProject::stop_daemons() {
    for (auto it = daemons_.rbegin(); it != daemons_.rend(); ++it) {
        if (!(*it)->running()) continue;
        (*it)->send_signal(SIGTERM);
        (*it)->wait(60);
    }
    daemons_.clear();
}

std::filesystem::path TestProject::apache_fragment(bool fastcgi) const {
    const std::string root = folder_.path().string(), bin = sluice::test::binary_dir() + "/cgi-bin";
    std::string text = fmt::format(
        "Alias /test/download \"{0}/download\"\nAlias /test \"{0}/html/user\"\n<Directory \"{0}/download\">\n    Require all granted\n</Directory>\n"
        "<Directory \"{0}/html/user\">\n    Require all granted\n</Directory>\n<Directory \"{1}\">\n    Options ExecCGI\n    Require all granted\n",
        root, bin);
    text += fastcgi ? "    SetHandler fcgid-script\n</Directory>\nAlias /test_cgi \"" + bin + "\"\n"
                    : "</Directory>\nScriptAlias /test_cgi \"" + bin + "\"\n";
    return folder_.write("test.httpd.conf", text);
}

std::filesystem::path TestProject::apache_proxy_fragment(const std::string& backend) const {
    std::ifstream in(apache_fragment());
    std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string alias = "ScriptAlias /test_cgi", options = "    Options ExecCGI\n";
    text.replace(text.find(alias), alias.size(), "Alias /test_cgi");
    text.insert(text.find(options) + options.size(),
                "    <Files \"cgi\">\n        SetHandler \"proxy:" + backend + "\"\n    </Files>\n");
    return folder_.write("test.httpd.conf", text);
}

std::filesystem::path TestProject::scheduler_log_file() const { return log_dir(folder_.path()) / "scheduler.log"; }

std::string TestProject::scheduler_log() const {
    std::ifstream in(scheduler_log_file());
    return {std::istreambuf_iterator<char>(in), {}};
}

void TestProject::set_options(const std::string& options) {
    options_ = options;
    write_config();
}

std::string work_request(Id hostid, std::int64_t seqno, double seconds, const std::string& inside, int ncpus,
                         const std::string& host_name) {
    return fmt::format(
        "<scheduler_request>\n<authenticator>{0}</authenticator>\n<hostid>{1}</hostid>\n<rpc_seqno>{2}</rpc_seqno>\n"
        "<core_client_major_version>7</core_client_major_version>\n<core_client_minor_version>20</core_client_minor_version>\n"
        "<core_client_release>5</core_client_release>\n<work_req_seconds>{3}</work_req_seconds>\n<cpu_req_secs>{3}</cpu_req_secs>\n"
        "<cpu_req_instances>0</cpu_req_instances>\n<estimated_delay>0</estimated_delay>\n<client_cap_plan_class>1</client_cap_plan_class>\n"
        "<allow_multiple_clients>1</allow_multiple_clients>\n<platform_name>x86_64-pc-linux-gnu</platform_name>\n"
        "<time_stats><on_frac>1</on_frac><connected_frac>-1</connected_frac><active_frac>1</active_frac><gpu_active_frac>1</gpu_active_frac></time_stats>\n"
        "<host_info><timezone>0</timezone><domain_name>{6}</domain_name><ip_addr>127.0.0.1</ip_addr><host_cpid>{6}cpid</host_cpid>\n"
        "<p_ncpus>{4}</p_ncpus><p_vendor>GenuineIntel</p_vendor><p_model>Xeon</p_model><p_features>fpu sse sse2</p_features>\n"
        "<p_fpops>1e9</p_fpops><p_iops>1e9</p_iops><p_membw>1e9</p_membw><m_nbytes>8e9</m_nbytes><m_cache>1e6</m_cache><m_swap>1e9</m_swap>\n"
        "<d_total>1e12</d_total><d_free>5e11</d_free><os_name>Linux</os_name><os_version>6.1</os_version></host_info>\n"
        "<disk_usage><d_boinc_used_total>1e6</d_boinc_used_total><d_boinc_used_project>1e6</d_boinc_used_project></disk_usage>\n{5}\n"
        "</scheduler_request>\n",
        kTestKey, hostid, seqno, seconds, ncpus, inside, host_name);
}

std::vector<std::string> elements(const std::string& xml, const std::string& tag) {
    std::vector<std::string> found;
    const std::string open = "<" + tag + ">", close = "</" + tag + ">";
    for (std::size_t at = 0; (at = xml.find(open, at)) != std::string::npos;) {
        at += open.size();
        const auto end = xml.find(close, at);
        if (end == std::string::npos) break;
        found.push_back(xml.substr(at, end - at));
        at = end;
    }
    return found;
}

}  // namespace sluice::test
