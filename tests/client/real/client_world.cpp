// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/client/real/client_world.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <stdexcept>

#include "sluice/base/project.h"
#include "tests/support/free_port.h"
#include "tests/support/paths.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

#ifdef __aarch64__
constexpr const char* kPlatform = "aarch64-unknown-linux-gnu";
#else
constexpr const char* kPlatform = "x86_64-pc-linux-gnu";
#endif

std::string text_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string web_mode() {
    const char* mode = std::getenv("SLUICE_TEST_WEB");
    return mode == nullptr ? "cgid" : mode;
}

}  // namespace

bool wait_until(const std::function<bool()>& condition, double limit) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit);
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= end) return false;
        ::usleep(100000);
    }
    return true;
}

ClientWorld& ClientWorld::shared() {
    static ClientWorld world;
    return world;
}

ClientWorld::ClientWorld() : ClientWorld(std::make_shared<PrivateMariaDb>(), "clients") {}

ClientWorld::ClientWorld(ClientWorld& beside) : ClientWorld(beside.server_, "clients_beside") {}

ClientWorld::ClientWorld(std::shared_ptr<PrivateMariaDb> server, std::string database)
    : root_(folder_ / "project"), port_(free_port()), server_(std::move(server)), database_(std::move(database)) {
    // The web server's user must get through, and connect to the database.
    fs::permissions(folder_.path(), fs::perms(0755));
    fs::create_directories(folder_ / "control");
    fs::permissions(folder_ / "control", fs::perms(0777));  // jobs write there, too
    url_ = fmt::format("http://127.0.0.1:{}/demo/", port_);
    server_->admit_web_server();
    install_programs();
    make_project();
    db_ = std::make_unique<Database>(server_->settings(database_));
    add_steered_app();
    serve();
    start_feeder();
    transitioner_ = std::make_unique<Subprocess>(
        std::vector<std::string>{(root_ / "bin/transitioner").string(), "--sleep_interval", "1"}, run_options());
}

ClientWorld::~ClientWorld() {
    apache_.reset();
    nginx_.reset();
    for (auto* daemon : {&scheduler_, &transitioner_, &feeder_}) {
        if (*daemon && (*daemon)->running()) (*daemon)->send_signal(SIGTERM), (*daemon)->wait(60);
    }
}

/// As `cmake --install` lays programs out; links to what was built.
void ClientWorld::install_programs() const {
    const fs::path build = sluice::test::binary_dir();
    fs::create_directories(folder_ / "prefix/bin");
    fs::create_directories(folder_ / "prefix/cgi-bin");
    for (const char* program :
         {"bin/start", "bin/xadd", "bin/update_versions", "bin/create_account", "bin/create_work", "bin/stage_file",
          "bin/feeder", "bin/transitioner", "bin/batch_planner", "bin/sluice_batch", "bin/show_shmem", "bin/gang_hub",
          "bin/gang_planner", "cgi-bin/cgi", "cgi-bin/file_upload_handler"})
        fs::create_symlink(build / program, folder_ / "prefix" / program);
}

RunOptions ClientWorld::run_options() const {
    RunOptions options;
    options.env = {{"BOINC_PROJECT_DIR", root_.string()}, {"MYSQL_UNIX_PORT", server_->socket().string()}};
    options.cwd = root_;
    return options;
}

std::string ClientWorld::in_project(const std::vector<std::string>& words, const std::string& input) {
    std::vector<std::string> full = words;
    full[0] = (root_ / "bin" / words[0]).string();
    RunOptions options = run_options();
    options.stdin_text = input;
    const RunResult result = run(full, options);
    if (result.status != 0) throw std::runtime_error(words[0] + ": " + result.out + result.err);
    return result.out;
}

void ClientWorld::make_project() {
    // Copies of the programs: the web server's user may not see the build folder.
    std::vector<std::string> words = {sluice::test::binary_dir() + "/bin/make_project",
                                      "--copy",
                                      "--compat_level",
                                      "0",  // what real clients are told is compared with upstream's rules
                                      "--name",
                                      "demo",
                                      "--long_name",
                                      "Real " + database_,
                                      "--root",
                                      root_.string(),
                                      "--url_base",
                                      fmt::format("http://127.0.0.1:{}", port_),
                                      "--install_from",
                                      (folder_ / "prefix").string(),
                                      "--db_name",
                                      database_,
                                      "--db_user",
                                      "root",
                                      "--db_passwd",
                                      server_->settings().password,
                                      "--db_host",
                                      "localhost",
                                      "--db_socket",
                                      server_->socket().string()};
    for (const std::string& word : make_project_accounts()) words.push_back(word);
    const RunResult made = run(words, {.run_as = Role::kRoot});
    if (made.status != 0) throw std::runtime_error("make_project: " + made.out + made.err);
    option("min_sendwork_interval", "0");
    option("next_rpc_delay", "86400");
    option("msg_to_host", "1");
    option("maintenance_delay", "1");
    option("daily_result_quota", "100000");
    option("sched_debug_level", "4");
}

void ClientWorld::option(const std::string& name, const std::string& value) {
    std::string text = text_of(root_ / "config.xml");
    const std::string line = "<" + name + ">" + value + "</" + name + ">";
    const auto at = text.find("<" + name + ">");
    if (at == std::string::npos) {
        text.insert(text.find("</config>"), line + "\n");
    } else {
        const std::string end = "</" + name + ">";
        text.replace(at, text.find(end, at) + end.size() - at, line);
    }
    // Into the same file, whose group is the web server's.
    std::ofstream(root_ / "config.xml", std::ios::trunc) << text;
}

void ClientWorld::add_app(const std::string& name, const fs::path& program) {
    const fs::path version = root_ / "apps" / name / "1.0" / kPlatform;
    fs::create_directories(version);
    fs::copy_file(program, version / (name + "_1.0"));
    std::string project = text_of(root_ / "project.xml");
    project.insert(project.find("</boinc>"),
                   "<app>\n<name>" + name + "</name>\n<user_friendly_name>Of tests</user_friendly_name>\n</app>\n");
    std::ofstream(root_ / "project.xml") << project;
    in_project({"xadd"});
    in_project({"update_versions", "--noconfirm"});
}

Subprocess ClientWorld::daemon(const std::vector<std::string>& words) const {
    std::vector<std::string> full = words;
    full[0] = (root_ / "bin" / words[0]).string();
    return Subprocess(full, run_options());
}

void ClientWorld::add_steered_app() {
    std::ofstream(root_ / "templates/steered_in")
        << "<input_template>\n<file_info>\n</file_info>\n<workunit>\n<file_ref>\n<open_name>in</open_name>\n</file_ref>\n</workunit>\n"
           "</input_template>\n";
    std::ofstream(root_ / "templates/steered_out")
        << "<output_template>\n<file_info>\n<name><OUTFILE_0/></name>\n<generated_locally/>\n<upload_when_present/>\n"
           "<max_nbytes>1000000</max_nbytes>\n<url><UPLOAD_URL/></url>\n</file_info>\n<result>\n<file_ref>\n"
           "<file_name><OUTFILE_0/></file_name>\n<open_name>out</open_name>\n</file_ref>\n</result>\n</output_template>\n";
    add_app("steered", sluice::test::binary_dir() + "/tests/steered_app");
    std::ofstream(root_ / "input") << "what the job gets\n";
    in_project({"stage_file", "--copy", "input"});
}

void ClientWorld::serve() {
    const std::string mode = web_mode();
    if (mode.starts_with("nginx")) return serve_by_nginx(mode == "nginx_proxy");
    ApacheOptions options;
    options.port = port_;
    options.include = root_ / "demo.httpd.conf";
    if (mode == "fcgid") {
        options.mode = ApacheMode::kFcgid;
        options.include = root_ / "demo.httpd.fcgi.conf";
        options.cgid_too = true;
    }
    apache_ = std::make_unique<PrivateApache>(options);
}

void ClientWorld::serve_by_nginx(bool fastcgi_server) {
    if (fastcgi_server) {
        const std::string socket = (root_ / ("pid_" + short_host_name()) / "cgi.sock").string();
        scheduler_ = std::make_unique<Subprocess>(
            std::vector<std::string>{(root_ / "cgi-bin/cgi").string(), "--listen", socket, "--processes", "2"},
            run_options());
        if (!scheduler_->wait_for_output("listening on"))
            throw std::runtime_error("cgi --listen: " + scheduler_->err());
    }
    nginx_ =
        std::make_unique<PrivateNginx>(root_ / (fastcgi_server ? "demo.nginx.proxy.conf" : "demo.nginx.conf"), port_);
}

std::string ClientWorld::web_log() const { return nginx_ ? nginx_->error_log() : apache_->error_log(); }

void ClientWorld::start_feeder() {
    feeder_ = std::make_unique<Subprocess>(std::vector<std::string>{(root_ / "bin/feeder").string()}, run_options());
    if (!feeder_->wait_for_output("ready"))
        throw std::runtime_error("the feeder does not become ready: " + feeder_->err());
}

void ClientWorld::stop_feeder() {
    feeder_->send_signal(SIGTERM);
    if (!feeder_->wait()) throw std::runtime_error("the feeder does not end");
    feeder_.reset();
}

void ClientWorld::stop_daemons() {
    stop_feeder();
    transitioner_->send_signal(SIGTERM);
    if (!transitioner_->wait()) throw std::runtime_error("the transitioner does not end");
    transitioner_.reset();
}

void ClientWorld::stop_database() {
    db_.reset();
    server_->stop();
}

void ClientWorld::start_database() {
    server_->start();
    db_ = std::make_unique<Database>(server_->settings(database_));
}

std::string ClientWorld::add_user(const std::string& name) {
    const std::string key = in_project({"create_account", "--email", name + "@example.org", "--name", name});
    return key.substr(0, key.find('\n'));
}

Id ClientWorld::user_id(const std::string& name) {
    return number(Sql("SELECT id FROM user WHERE name=") << SqlText{name});
}

Id ClientWorld::add_job(const std::string& commands, const std::vector<std::string>& more) {
    const std::string name = fmt::format("job{}", ++jobs_);
    std::vector<std::string> words{
        "create_work", "--appname", "steered", "--wu_name", name, "--command_line", commands, "--rsc_fpops_est", "1e9",
        "--rsc_fpops_bound", "1e16", "--rsc_memory_bound", "1e7", "--rsc_disk_bound", "1e7", "--delay_bound", "86400",
        "--min_quorum", "1", "--target_nresults", "1",
        // A second instance would go to the next test's client.
        "--max_error_results", "1", "--max_total_results", "1", "--max_success_results", "1"};
    words.insert(words.end(), more.begin(), more.end());
    words.push_back("input");
    in_project(words);
    return number(Sql("SELECT id FROM workunit WHERE name=") << SqlText{name});
}

std::string ClientWorld::text(const Sql& query) {
    Rows rows = db_->query(query);
    return rows.next() ? rows.text(0) : "";
}

std::string ClientWorld::scheduler_log() const {
    for (const auto& entry : fs::directory_iterator(root_)) {
        if (entry.path().filename().string().starts_with("log_")) return text_of(entry.path() / "scheduler.log");
    }
    return "";
}

void Volunteer::attach() {
    client_.attach(world_.url(), key_);
    if (!wait_until([&] { return host_id() != 0; }))
        throw std::runtime_error("the client gets no host id:\n" + log() + world_.web_log());
}

bool Volunteer::update_until(const std::function<bool()>& condition, double limit) {
    const auto start = std::chrono::steady_clock::now();
    int asked = 0;
    return wait_until(
        [&] {
            if (condition()) return true;
            const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            if (passed >= 5.0 * asked) client_.update(world_.url()), ++asked;
            return false;
        },
        limit);
}

bool Volunteer::one_more_rpc() {
    const auto ended = [&] {
        const std::string text = log();
        int n = 0;
        for (const char* mark : {"Scheduler request completed", "Scheduler request failed", "Scheduler reply"})
            for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) ++n;
        return n;
    };
    const int before = ended();
    return update_until([&] { return ended() > before; });
}

Id Volunteer::host_id() const {
    const std::string text = in_state("hostid");
    return text.empty() ? 0 : std::atoll(text.c_str());
}

std::string Volunteer::in_state(const std::string& element) const {
    const auto found = elements(client_.state(), element);
    return found.empty() ? "" : found.front();
}

int Volunteer::count(const std::string& part) const {
    const std::string state = client_.state();
    int n = 0;
    for (auto at = state.find(part); at != std::string::npos; at = state.find(part, at + part.size())) ++n;
    return n;
}

std::string Volunteer::state_of_task(const std::string& result) const {
    const std::string text = client_.command({"--get_tasks"}), name = "   name: " + result + "\n";
    const auto at = text.find(name);
    if (at == std::string::npos) return "";
    const std::string task = text.substr(at, text.find(") -----------", at) - at), label = "active_task_state: ";
    const auto state = task.find(label);
    if (state == std::string::npos) return "queued";
    return task.substr(state + label.size(), task.find('\n', state) - state - label.size());
}

std::string Volunteer::project_status(const std::string& label) const {
    const std::string text = client_.command({"--get_project_status"}), start = "   " + label + ": ";
    const auto at = text.find(start);
    return at == std::string::npos ? "" : text.substr(at + start.size(), text.find('\n', at) - at - start.size());
}

std::string Volunteer::complaints() const {
    static const std::regex bad("\\[error\\]|Scheduler request failed|Server error|scheduler reply|[Aa]lready have");
    std::string found;
    const std::string text = log();
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        if (std::regex_search(line, bad)) found += line + "\n";
        at = end + 1;
    }
    return found;
}

}  // namespace sluice::test
