// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/db/soak/month_project.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <stdexcept>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "tests/support/database_rows.h"
#include "tests/support/free_port.h"
#include "tests/support/paths.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

int parameter(const char* name, int usual) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::atoi(text) : usual;
}

void replace_first(std::string& text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    if (at == text.npos) throw std::runtime_error("a new project's config.xml has no " + what);
    text.replace(at, what.size(), by);
}

std::string daemon_entry(const std::string& words, const std::string& output = "") {
    return "<daemon><cmd>" + words + "</cmd>" + (output.empty() ? "" : "<output>" + output + "</output>") +
           "</daemon>\n";
}

void write_program(const fs::path& file, const std::string& text) {
    write_file_atomically(file, text);
    fs::permissions(file, fs::perms(0755));
}

}  // namespace

std::multimap<std::string, pid_t> programs_with(const MovedClock& clock) {
    std::multimap<std::string, pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const std::string pid = entry.path().filename().string();
        if (pid.find_first_not_of("0123456789") != pid.npos) continue;
        std::error_code error;
        const std::string exe = fs::read_symlink(entry.path() / "exe", error).filename().string();
        if (error || exe.empty() || exe == "dash" || exe == "bash" || exe.starts_with("maria")) continue;
        std::string surroundings, words;
        try {
            surroundings = read_file(entry.path() / "environ").value_or("");
            words = read_file(entry.path() / "cmdline").value_or("");
        } catch (const std::exception&) {
            continue;  // it has ended, or is somebody else's
        }
        if (surroundings.find(clock.mark()) == surroundings.npos) continue;
        found.emplace(fs::path(words.substr(0, words.find('\0'))).filename().string(), std::stoi(pid));
    }
    return found;
}

ClockGuard::ClockGuard(const MovedClock& clock) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    watcher_ = ::fork();
    if (watcher_ == 0) {
        ::setsid();
        ::close(ends[1]);
        for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_IGN);
        char byte;
        while (::read(ends[0], &byte, 1) < 0 && errno == EINTR) {
        }
        for (auto left = programs_with(clock); !left.empty(); left = programs_with(clock)) {
            for (const auto& [name, pid] : left) ::kill(pid, SIGKILL);
            ::usleep(50000);
        }
        ::_exit(0);
    }
    ::close(ends[0]);
    pipe_ = ends[1];
    if (watcher_ < 0) throw std::runtime_error("fork");
}

ClockGuard::~ClockGuard() {
    ::close(pipe_);
    while (::waitpid(watcher_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

MonthPlan MonthPlan::from_environment() {
    MonthPlan plan;
    plan.days = parameter("SLUICE_SOAK_DAYS", plan.days);
    plan.workunits = parameter("SLUICE_SOAK_WORKUNITS", plan.workunits);
    plan.kills = parameter("SLUICE_SOAK_KILLS", plan.kills);
    plan.seed = parameter("SLUICE_SOAK_SEED", plan.seed);
    if (plan.days >= 20) plan.pause = 1, plan.keep_days = 7, plan.deadline_days = 2, plan.steps = 24;
    plan.steps = parameter("SLUICE_SOAK_STEPS", plan.steps);
    if (plan.workunits >= 20000) plan.log_mb = 2;
    return plan;
}

MonthProject::MonthProject(const MonthPlan& plan)
    : plan_(plan),
      root_(dir_ / "project"),
      clock_(dir_ / "clock"),
      guard_(clock_),
      server_({.flush_log_at_trx_commit =
                   2,  // what was committed survives a kill of the server
                       // A thread that waits while hours of the clock go by does not hang: the server would end itself.
               .more = {"--innodb-buffer-pool-size=256M", "--innodb-log-file-size=64M",
                        "--innodb-fatal-semaphore-wait-threshold=4294967295"}}),
      random_(static_cast<unsigned>(plan.seed)) {
    make();
    configure();
    add_rows();
    upload_socket_ = std::make_unique<FastcgiSocket>((dir_ / "upload_socket").string());
    start_upload_handler();
    // It says that trickle_credit has ended: no host's speed is known yet. cron() tries again.
    const RunResult started = run({(root_ / "bin/start").string(), "--enable"}, options());
    if (started.status != 0 && std::ranges::count(started.err, '\n') != 1)
        throw std::runtime_error("bin/start: " + started.out + started.err);
}

void MonthProject::stop() const { run({(root_ / "bin/stop").string()}, options(), 120); }

fs::path MonthProject::log_folder() const { return log_dir(root_); }
fs::path MonthProject::input(const std::string& name) const { return fanout_path(root_ / "download", name, 1024); }
fs::path MonthProject::output(const std::string& name) const { return fanout_path(root_ / "upload", name, 1024); }
std::string MonthProject::key_of(int user) { return fmt::format("{:032x}", 0xabc000 + user); }

bool MonthProject::is_task(const std::string& name) {
    static const std::set<std::string> kNames{
        "antique_file_deleter", "update_stats", "rotate_logs", "size_census", "census", "db_dump", "cgi",
        "create_work",          "start"};
    return kNames.contains(name);
}

RunOptions MonthProject::options() const {
    RunOptions o;
    o.env = {{"BOINC_PROJECT_DIR", root_.string()}, {"MYSQL_UNIX_PORT", server_.socket().string()}};
    if (plan_.moved_waits) o.env[kMovedWaits] = "1";
    o.cwd = root_;
    return o;
}

void MonthProject::make() {
    fs::create_directories(dir_ / "prefix/cgi-bin");
    fs::create_directory_symlink(binary_dir() + "/bin", dir_ / "prefix/bin");
    fs::create_symlink(binary_dir() + "/cgi-bin/cgi", dir_ / "prefix/cgi-bin/cgi");
    fs::create_symlink(binary_dir() + "/tests/file_upload_handler_with_clock",
                       dir_ / "prefix/cgi-bin/file_upload_handler");
    const RunResult made =
        run({binary_dir() + "/bin/make_project", "--name", "month", "--root", root_.string(), "--url_base",
             plan_.url_base, "--install_from", (dir_ / "prefix").string(), "--db_user", "root", "--db_passwd",
             server_.settings().password, "--db_host", "localhost", "--db_socket", server_.socket().string()});
    if (made.status != 0) throw std::runtime_error("make_project: " + made.out + made.err);
    db_ = std::make_unique<Database>(server_.settings("month"));
}

/// What a new project leaves to its admin, and what volunteers of days need: see docs/job_flow.md.
void MonthProject::configure() {
    const fs::path file = root_ / "config.xml";
    std::string text = read_file(file).value();
    while (text.find("<disabled>1</disabled>") != text.npos) replace_first(text, "<disabled>1</disabled>", "");
    const auto pause = [&](double times) {
        return plan_.moved_waits ? "" : fmt::format(" --sleep_interval {}", times * plan_.pause);
    };
    const std::string sleep = pause(1);
    replace_first(text, "-min_age_days 7", fmt::format("-min_age_days {}", plan_.keep_days) + pause(5));
    replace_first(text, "<cmd>rotate_logs</cmd>",
                  fmt::format("<cmd>rotate_logs --max_mb {} --keep 3</cmd>", plan_.log_mb));
    for (const char* name : {"transitioner -d 3", "file_deleter -d 3"}) replace_first(text, name, name + sleep);
    replace_first(
        text, "</config>",
        fmt::format("<msg_to_host>1</msg_to_host>\n<one_result_per_host_per_wu>1</one_result_per_host_per_wu>\n"
                    "<gang_hub>127.0.0.1:{}</gang_hub>\n<decision_log>all</decision_log>\n{}</config>",
                    free_port(), plan_.more_options));
    std::string more =
        daemon_entry("gang_hub") + daemon_entry("size_regulator -app_name sized -lo 100 -hi 400 -sleep_time 1");
    for (const std::string app : {"plain", "sized"})
        more +=
            daemon_entry(
                (app == "plain" && plan_.scripted_validator
                     ? "script_validator -d 3 --init_script \"judge files\" --compare_script \"cmp_files files files2\""
                     : "sample_bitwise_validator -d 3") +
                    std::string(" -app ") + app + " --credit_from_wu" + sleep,
                "validator_" + app + ".log") +
            daemon_entry("script_assimilator -d 3 -app " + app + " -script \"take wu_name files\"" + sleep,
                         "assimilator_" + app + ".log");
    for (const char* words : {"trickle_echo --variety echo", "trickle_credit --variety credit --max_runtime 1000",
                              "trickle_deadline --variety deadline --extension_period 3600 --extension_timeframe 7200",
                              "trickle_script --variety script --script hear"})
        if (plan_.messages) more += daemon_entry(words + sleep);
    replace_first(text, "</daemons>", more + plan_.more_daemons + "</daemons>");
    replace_first(text, "</tasks>", "<task><cmd>census</cmd><period>24 hours</period></task>\n</tasks>");
    write_file_atomically(file, text);
    for (const std::string app : {"plain", "sized"}) {
        write_file_atomically(root_ / "templates" / (app + "_in"),
                              "<file_info>\n</file_info>\n<workunit>\n<file_ref>\n<open_name>in</open_name>\n"
                              "</file_ref>\n</workunit>\n");
        write_file_atomically(root_ / "templates" / (app + "_out"),
                              "<file_info>\n<name><OUTFILE_0/></name>\n<generated_locally/>\n<upload_when_present/>\n"
                              "<max_nbytes>5000</max_nbytes>\n<url><UPLOAD_URL/></url>\n</file_info>\n<result>\n"
                              "<file_ref>\n<file_name><OUTFILE_0/></file_name>\n<open_name>out</open_name>\n"
                              "</file_ref>\n</result>\n");
    }
    const std::string taken = (dir_ / "taken").string();
    write_program(root_ / "bin/take", "#!/bin/sh\n[ \"$1\" = --error ] && echo \"error $3\" >>" + taken +
                                          " || echo \"$1\" >>" + taken + "\n");
    write_program(root_ / "bin/judge", "#!/bin/sh\n[ ! -e " + outside("refuse").string() + " ]\n");
    write_program(root_ / "bin/cmp_files", "#!/bin/sh\ncmp -s \"$1\" \"$2\"\n");
    write_program(root_ / "bin/hear", "#!/bin/sh\ncat >/dev/null\n");
    tasks_ = {{"antique_file_deleter", {"-d", "2"}},
              {"update_stats", {}},
              {"rotate_logs", {"--max_mb", fmt::format("{}", plan_.log_mb), "--keep", "3"}},
              {"size_census", {}},
              {"census", {}},
              {"db_dump", {"-d", "2", "-dump_spec", "../db_dump_spec.xml"}}};
}

void MonthProject::add_rows() {
    FakeDb rows;
    const Id platform = count(Sql("SELECT id FROM platform WHERE name='x86_64-pc-linux-gnu'"));
    for (Id id = 1; id <= 2; ++id) {
        App app;
        app.id = id, app.name = id == 1 ? "plain" : "sized", app.user_friendly_name = app.name;
        app.n_size_classes = id == 1 ? 0 : 2;
        rows.apps[id] = app;
        AppVersion version;
        version.id = version.appid = id, version.platformid = platform, version.version_num = 100;
        version.xml_doc = fmt::format(
            "<file_info>\n    <name>{0}_1.0</name>\n    <url>http://127.0.0.1/{0}_1.0</url>\n    <executable/>\n"
            "    <nbytes>1</nbytes>\n</file_info>\n<app_version>\n    <app_name>{0}</app_name>\n"
            "    <version_num>100</version_num>\n<file_ref>\n    <file_name>{0}_1.0</file_name>\n    <main_program/>\n"
            "</file_ref>\n</app_version>\n",
            app.name);
        rows.versions[id] = version;
    }
    for (Id id = 1; id <= kTeams; ++id) {
        Team team;
        team.id = id, team.name = fmt::format("team {}", id);
        rows.teams[id] = team;
    }
    for (int id = 1; id <= kUsers; ++id) {
        User user;
        user.id = id, user.name = fmt::format("volunteer {}", id), user.authenticator = key_of(id);
        user.email_addr = fmt::format("v{}@example.org", id), user.cross_project_id = fmt::format("{:032x}", id);
        user.passwd_hash = "x", user.create_time = 1000000000, user.teamid = 1 + id % kTeams;
        rows.users[id] = user;
    }
    store_rows(*db_, rows);
    const RunResult quota =
        run({(root_ / "bin/sluice_batch").string(), "quota", "--user", "1", "--set", "1"}, options());
    if (quota.status != 0) throw std::runtime_error("sluice_batch: " + quota.out + quota.err);
}

void MonthProject::start_upload_handler() {
    RunOptions o = options();
    o.unset = {"CONTENT_LENGTH", "GATEWAY_INTERFACE", "REQUEST_METHOD"};
    o.cwd = root_ / "cgi-bin";
    o.stdin_fd = upload_socket_->fd();
    upload_handler_.emplace(std::vector<std::string>{(root_ / "cgi-bin/file_upload_handler").string()}, o);
}

std::optional<RunResult> MonthProject::to_its_end(Subprocess program, const std::string& name) {
    const auto turn = armed_.find(name);
    if (turn != armed_.end()) {
        program.wait(draw(60) / 1000.0);
        if (program.running()) program.send_signal(SIGKILL);
    }
    auto ended = program.wait(300);
    if (!ended) throw std::runtime_error(name + " does not end");
    if (turn != armed_.end() && ended->signal == SIGKILL) {
        armed_.erase(turn), ++killed_[name];
        return std::nullopt;
    }
    printed_ += ended->err;
    return ended;
}

std::optional<RunResult> MonthProject::run_program(const std::vector<std::string>& words, const std::string& input) {
    RunOptions o = options();
    o.stdin_text = input;
    std::vector<std::string> full = words;
    full[0] = (root_ / "bin" / words[0]).string();
    return to_its_end(Subprocess(full, o), words[0]);
}

void MonthProject::cron() { run_program({"start", "--cron", "--quiet"}); }

std::optional<RunResult> MonthProject::ask_scheduler(const std::string& request) {
    RunOptions o = options();
    o.cwd = root_ / "cgi-bin";
    o.stdin_text = request;
    o.env["REQUEST_METHOD"] = "POST";
    o.env["CONTENT_LENGTH"] = std::to_string(request.size());
    o.env["REMOTE_ADDR"] = "10.9.9.9";
    return to_its_end(Subprocess({(root_ / "cgi-bin/cgi").string()}, o), "cgi");
}

bool MonthProject::upload(const std::string& request) {
    if (!upload_handler_->running()) start_upload_handler();
    const auto turn = armed_.find("file_upload_handler");
    const std::map<std::string, std::string> words{
        {"REQUEST_METHOD", "POST"}, {"REMOTE_ADDR", "10.9.9.9"}, {"CONTENT_LENGTH", std::to_string(request.size())}};
    if (turn == armed_.end())
        return upload_socket_->request(words, request).find("<status>0</status>") != std::string::npos;
    // It has the head of a file and waits for the rest.
    const int fd = upload_socket_->begin_request(words, request.substr(0, request.size() - 100));
    ::usleep(static_cast<useconds_t>(draw(3000)));
    upload_handler_->send_signal(SIGKILL), upload_handler_->wait(60);
    ::close(fd);
    armed_.erase(turn), ++killed_["file_upload_handler"];
    return false;
}

bool MonthProject::kill_daemon(const std::string& name) {
    std::vector<pid_t> pids;
    const auto all = running();
    for (auto [at, end] = all.equal_range(name); at != end; ++at) pids.push_back(at->second);
    if (pids.empty()) return false;
    ::usleep(static_cast<useconds_t>(draw(20000)));
    if (::kill(pids[static_cast<std::size_t>(draw(static_cast<int>(pids.size())))], SIGKILL) != 0) return false;
    ++killed_[name];
    return true;
}

void MonthProject::end_daemon(const std::string& name) {
    const auto all = running();
    for (auto [at, end] = all.equal_range(name); at != end; ++at) ::kill(at->second, SIGTERM);
    eventually([&] { return running().count(name) == 0; });
}

/// Daemons lose their connections, and wait until it is there again.
void MonthProject::kill_database() {
    ::usleep(static_cast<useconds_t>(draw(20000)));
    server_.kill(), server_.start();
    ++killed_["mariadbd"];
}

/// As cron runs it; what it leaves is for the next one.
void MonthProject::kill_task(const std::string& name) {
    RunOptions o = options();
    o.cwd = root_ / ("tmp_" + short_host_name());
    std::vector<std::string> words{(root_ / "bin" / name).string()};
    words.insert(words.end(), tasks_[name].begin(), tasks_[name].end());
    armed_.insert(name);
    while (armed_.contains(name)) to_its_end(Subprocess(words, o), name);  // one that ended before: once more
}

void MonthProject::kill_one() {
    static const std::vector<std::string> kDaemons{"feeder",
                                                   "transitioner",
                                                   "scheduler",
                                                   "file_deleter",
                                                   "db_purge",
                                                   "batches",
                                                   "gang_hub",
                                                   "size_regulator",
                                                   "trickle_echo",
                                                   "trickle_credit",
                                                   "trickle_deadline",
                                                   "trickle_script",
                                                   "script_assimilator",
                                                   "sample_bitwise_validator"};
    static const std::vector<std::string> kRun{"cgi", "create_work", "start", "file_upload_handler"};
    // Those that do most of the work have the most instants at which they can be killed.
    static const std::vector<std::string> kBusy{
        "transitioner", "sample_bitwise_validator", "file_deleter", "script_assimilator", "db_purge", "scheduler"};
    const int kind = draw(10);
    const auto one_of = [&](const std::vector<std::string>& names) {
        return names[static_cast<std::size_t>(draw(static_cast<int>(names.size())))];
    };
    if (kind < 4 && kill_daemon(one_of(kDaemons))) return;
    if (kind < 7 && kill_daemon(one_of(kBusy))) return;
    if (kind == 7) {
        auto task = tasks_.begin();
        std::advance(task, draw(static_cast<int>(tasks_.size())));
        return kill_task(task->first);
    }
    if (kind == 8 && draw(2) == 0) return kill_database();
    armed_.insert(one_of(kRun));
}

}  // namespace sluice::test
