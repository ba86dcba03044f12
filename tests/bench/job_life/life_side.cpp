// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/bench/job_life/life_side.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <map>
#include <stdexcept>
#include <thread>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "tests/support/project_layout.h"
#include "tests/support/request_text.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

constexpr int kHosts = 64, kJobsOfRequest = 10, kOutputBytes = 10240;

void wait(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

const char* name_of(Whose whose) { return whose == Whose::kOurs ? "ours" : "theirs"; }

int times_in(const std::string& text, const std::string& part) {
    int n = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
    return n;
}

std::string upload_request(const std::string& file) {
    return fmt::format(
        "<data_server_request>\n<core_client_major_version>8</core_client_major_version>\n"
        "<core_client_minor_version>0</core_client_minor_version>\n<core_client_release>2</core_client_release>\n"
        "<file_upload>\n<file_info>\n<name>{}</name>\n<max_nbytes>20000</max_nbytes>\n</file_info>\n"
        "<nbytes>{}</nbytes>\n<md5_cksum>x</md5_cksum>\n<offset>0</offset>\n<data>\n{}",
        file, kOutputBytes, std::string(kOutputBytes, 'x'));
}

}  // namespace

std::string LifeSide::config() const {
    return fmt::format(
        "<shmem_work_items>{0}</shmem_work_items><feeder_query_size>{1}</feeder_query_size>"
        "<one_result_per_user_per_wu>0</one_result_per_user_per_wu><daily_result_quota>1000000</daily_result_quota>"
        "<max_wus_to_send>{2}</max_wus_to_send><min_sendwork_interval>0</min_sendwork_interval>"
        "<dont_generate_upload_certificates>1</dont_generate_upload_certificates>"
        "<ignore_upload_certificates>1</ignore_upload_certificates>",
        settings_.slots, 2 * settings_.slots, kJobsOfRequest);
}

LifeSide::LifeSide(PrivateMariaDb& server, Whose whose, const LifeSettings& settings)
    : server_(server),
      whose_(whose),
      settings_(settings),
      project_(server, name_of(whose), config()),
      seqnos_(kHosts + 1) {
    if (whose == Whose::kTheirs && !settings.schema.empty()) {
        Database db(server.settings());
        db.execute(Sql("DROP DATABASE theirs"));
        db.execute(Sql("CREATE DATABASE theirs"));
        server.load("theirs", settings.schema);
    }
    for (int i = 1; i <= kHosts; ++i) {
        Host& h = project_.rows().hosts[i];
        h.id = i;
        h.userid = 1;
        h.domain_name = "box";
    }
    project_.store();
    project_.write_templates(20000);
    const fs::path script = project_.folder() / "bin/take";
    write_file_atomically(script, "#!/bin/sh\nexit 0\n");
    fs::permissions(script, fs::perms(0755));
    fs::create_directories(project_.folder() / "archives");
    fs::create_directories(log_dir(project_.folder()));
    // As bin/start makes them: a project that runs has them all.
    for (unsigned n = 0; n < kTestFanout; ++n) fs::create_directories(project_.folder() / "upload" / fanout_folder(n));
    add_rows();
    start_servers();
}

LifeSide::~LifeSide() {
    if (feeder_) feeder_->send_signal(SIGCONT);
    for (auto* daemon : {&uploads_, &scheduler_, &feeder_}) {
        if (!*daemon) continue;
        (*daemon)->send_signal(SIGTERM);
        (*daemon)->wait(15);
    }
}

std::string LifeSide::program(const std::string& name) const {
    const fs::path& prefix = whose_ == Whose::kOurs ? settings_.ours : settings_.theirs;
    const fs::path in_bin = prefix / "bin" / name;
    return (fs::exists(in_bin) ? in_bin : prefix / "cgi-bin" / name).string();
}

/// Two results a workunit. One workunit in ten is in progress, the others are over, and their files are kept: no
/// program has anything to do for them.
void LifeSide::add_rows() {
    Database& db = project_.db();
    db.execute(Sql("SET SESSION sql_mode=''"));
    for (int first = 0, left = settings_.rows / 2; left > 0; left -= 100000, first += 100000) {
        Sql wu(
            "INSERT INTO workunit(id,create_time,appid,name,xml_doc,rsc_fpops_est,rsc_fpops_bound,rsc_memory_bound,"
            "rsc_disk_bound,canonical_resultid,canonical_credit,transition_time,delay_bound,assimilate_state,min_quorum,"
            "target_nresults,max_error_results,max_total_results,max_success_results,result_template_file,keywords) SELECT "
            "seq,unix_timestamp(),1,CONCAT('row_',seq),REPEAT('x',400),1e12,1e15,1e7,1e7,IF(MOD(seq,10),2*seq,0),1,"
            "2147483647,604800,IF(MOD(seq,10),2,0),2,2,3,3,3,'templates/up_out','' FROM seq_1_to_10000000 WHERE seq>");
        db.execute(wu << first << " AND seq<=" << first + std::min(left, 100000));
        for (int instance = 0; instance < 2; ++instance) {
            Sql result(
                "INSERT INTO result(id,create_time,workunitid,server_state,outcome,validate_state,hostid,userid,sent_time,"
                "received_time,report_deadline,name,xml_doc_in,stderr_out,appid,app_version_id,random) SELECT 2*id+");
            result << instance - 1 << ",create_time,id,IF(MOD(id,10),5,4),IF(MOD(id,10),1,0),IF(MOD(id,10),1,0),"
                   << "1000+MOD(id,1000),1,create_time-5000,IF(MOD(id,10),create_time-100,0),create_time+600000,"
                   << "CONCAT(name,'_'," << instance << "),REPEAT('y',300),REPEAT('z',200),1,1,MOD(id*40503,65536) "
                   << "FROM workunit WHERE id>" << first << " AND id<=" << first + 100000;
            db.execute(result);
        }
    }
    // What the server knows of the tables is of the time when they were empty.
    db.query(Sql("ANALYZE TABLE workunit,result,host,app"));
    db.execute(Sql("SET GLOBAL innodb_max_dirty_pages_pct_lwm=0, GLOBAL innodb_max_dirty_pages_pct=0"));
    const auto dirty = [&] {
        wait(0.2);
        return number_of(db, Sql("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME="
                                 "'INNODB_BUFFER_POOL_PAGES_DIRTY'"));
    };
    if (!eventually([&] { return dirty() < 100; }, 600))
        throw std::runtime_error("the server does not write its pages");
    db.execute(Sql("SET GLOBAL innodb_max_dirty_pages_pct=90, GLOBAL innodb_max_dirty_pages_pct_lwm=0"));
}

/// The feeder is stopped but where its stage is measured.
void LifeSide::start_servers() {
    feeder_ = std::make_unique<Subprocess>(std::vector<std::string>{program("feeder"), "--sleep_interval", "1"},
                                           project_.run_options());
    if (!feeder_->wait_for_output(whose_ == Whose::kOurs ? "ready" : "Starting"))
        throw std::runtime_error("feeder: " + feeder_->err());
    if (whose_ == Whose::kOurs)
        array_ = SchedulerArray::attach(job_array_name(0x10000000 + ::getpid(), fs::canonical(project_.folder())));
    wait(whose_ == Whose::kTheirs ? 2 : 0.1);
    feeder_->send_signal(SIGSTOP);
    if (whose_ == Whose::kTheirs || !settings_.resident) return;
    write_file_atomically(project_.folder() / "relay_only", "");
    scheduler_ = std::make_unique<Subprocess>(std::vector<std::string>{program("scheduler")}, project_.run_options());
    if (!scheduler_->wait_for_output("listening on")) throw std::runtime_error("scheduler: " + scheduler_->err());
    RunOptions as_daemon = project_.run_options();
    as_daemon.cwd = project_.folder() / "cgi-bin";
    uploads_ =
        std::make_unique<Subprocess>(std::vector<std::string>{program("file_upload_handler"), "--resident"}, as_daemon);
    const fs::path log = log_dir(project_.folder()) / "file_upload_handler.log";
    const auto listens = [&] { return read_file(log).value_or("").find("listening on") != std::string::npos; };
    if (!eventually(listens, 60)) throw std::runtime_error("file_upload_handler: " + uploads_->err());
}

CpuTime LifeSide::used() const {
    return {ended_ + feeder_->cpu_seconds() + (scheduler_ ? scheduler_->family_cpu_seconds() : 0) +
                (uploads_ ? uploads_->family_cpu_seconds() : 0),
            server_.cpu_seconds()};
}

/// What a stage leaves to the server's purge is part of its cost: the server would do it in the next one, or later.
void LifeSide::settle() {
    project_.db().execute(Sql("SET GLOBAL innodb_max_purge_lag_wait=0"));  // returns when nothing is left to purge
    int quiet = 0;
    double before = server_.cpu_seconds();
    for (int turn = 0; turn < 600 && quiet < 2; ++turn) {
        wait(0.1);
        const double now = server_.cpu_seconds();
        quiet = now - before < 0.005 ? quiet + 1 : 0;
        before = now;
    }
}

void LifeSide::measured(LifeStage stage, const std::function<void()>& work) {
    const ServerCounts earlier = counts(), counted = counts();
    const CpuTime before = used();
    work();
    settle();
    CpuTime cost = used() - before;
    cost.counts = counts();
    for (std::size_t i = 0; i < counted.size(); ++i)  // without what the question itself costs
        cost.counts[i] = cost.counts[i] - counted[i] - (counted[i] - earlier[i]);
    cost_[static_cast<std::size_t>(stage)] += cost;
}

/// Of the whole server since its start.
ServerCounts LifeSide::counts() {
    Rows r = project_.db().query(Sql(
        "SELECT SUM(IF(VARIABLE_NAME='QUESTIONS',VARIABLE_VALUE,0)), SUM(IF(VARIABLE_NAME='QUERIES',VARIABLE_VALUE,0)), "
        "SUM(IF(VARIABLE_NAME LIKE 'HANDLER\\_READ%',VARIABLE_VALUE,0)), SUM(IF(VARIABLE_NAME IN "
        "('HANDLER_WRITE','HANDLER_UPDATE','HANDLER_DELETE'),VARIABLE_VALUE,0)), "
        "SUM(IF(VARIABLE_NAME='INNODB_OS_LOG_WRITTEN',VARIABLE_VALUE,0))/1024 FROM information_schema.GLOBAL_STATUS"));
    ServerCounts all{};
    if (r.next())
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = r.f64(static_cast<int>(i));
    return all;
}

RunResult LifeSide::run_counted(const std::vector<std::string>& words, RunOptions options) {
    options.by_vfork = true;  // a copy of this program's memory is no cost of theirs
    RunResult ended = run(words, options, 600);
    ended_ += ended.cpu;
    if (ended.status != 0)
        throw std::runtime_error(fmt::format("{}: {} ended with status {}: {}", name_of(whose_), words[0], ended.status,
                                             ended.err.substr(0, 1000)));
    return ended;
}

std::int64_t LifeSide::workunits(SqlLiteral condition) {
    Sql sql("SELECT COUNT(*) FROM workunit WHERE id>");
    return project_.count(sql << last_id_ << " AND " << condition);
}

std::int64_t LifeSide::results(SqlLiteral condition) {
    Sql sql("SELECT COUNT(*) FROM result WHERE workunitid>");
    return project_.count(sql << last_id_ << " AND " << condition);
}

void LifeSide::expect(const char* what, std::int64_t seen, std::int64_t wanted) const {
    if (seen != wanted)
        throw std::runtime_error(fmt::format("{}: {}: {}, not {}", name_of(whose_), what, seen, wanted));
}

void LifeSide::expect_files(bool there) const {
    int inputs = 0, outputs = 0;
    for (int n = created_ - settings_.jobs; n < created_; ++n)
        inputs += fs::exists(project_.input_file(fmt::format("in_{}", n))) ? 1 : 0;
    std::error_code missing;
    for (const SentJob& job : jobs_)
        outputs += fs::file_size(project_.output_file(job.output), missing) == kOutputBytes ? 1 : 0;
    expect("input files", inputs, there ? settings_.jobs : 0);
    expect("whole output files", outputs, there ? instances() : 0);
}

/// Both sides have collected the same, and the next round begins without it.
void LifeSide::expect_collected() const {
    if (settings_.assimilator != "batch_collect") return;
    const fs::path folder = project_.folder() / "results";
    int whole = 0;
    std::error_code missing;
    for (int n = created_ - settings_.jobs; n < created_; ++n)
        whole += fs::file_size(folder / fmt::format("0/wu_{}__file_out", n), missing) == kOutputBytes ? 1 : 0;
    expect("whole files collected", whole, settings_.jobs);
    fs::remove_all(folder);
}

void LifeSide::stage_inputs() {
    for (int n = 0; n < settings_.jobs; ++n) project_.stage_input(fmt::format("in_{}", created_++));
}

void LifeSide::create_work() {
    std::string lines;
    for (int n = created_ - settings_.jobs; n < created_; ++n) lines += fmt::format("--wu_name wu_{0} in_{0}\n", n);
    const std::string quorum = std::to_string(settings_.quorum), most = std::to_string(settings_.quorum + 2);
    RunOptions options = project_.run_options();
    options.cwd = project_.folder();
    options.stdin_text = lines;
    const std::vector<std::string> words{program("create_work"),
                                         "--appname",
                                         "up",
                                         "--credit",
                                         "1",
                                         "--rsc_fpops_est",
                                         "1e12",
                                         "--rsc_fpops_bound",
                                         "1e15",
                                         "--min_quorum",
                                         quorum,
                                         "--target_nresults",
                                         quorum,
                                         "--max_error_results",
                                         most,
                                         "--max_total_results",
                                         most,
                                         "--max_success_results",
                                         most,
                                         "--stdin"};
    run_counted(words, options);
}

/// Single passes until all is done: upstream's take a part at a time.
void LifeSide::passes(LifeStage stage, std::vector<std::string> words, const std::function<bool()>& done) {
    words[0] = program(words[0]);
    words.insert(words.begin() + 1, "--one_pass");
    for (int n = 0; n < 50; ++n) {
        measured(stage, [&] { run_counted(words, project_.run_options()); });
        if (done()) return;
    }
    throw std::runtime_error(fmt::format("{}: {} does not get done", name_of(whose_), words[0]));
}

/// Transitions are due from the second after the one that is written.
void LifeSide::transition() {
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    wait(std::ceil(now) - now + 0.01);
    passes(LifeStage::kTransition, {"transitioner"},
           [&] { return workunits("transition_time<=UNIX_TIMESTAMP()") == 0; });
}

std::vector<std::string> LifeSide::assimilator() const {
    if (settings_.assimilator == "script") return {"script_assimilator", "--app", "up", "--script", "take wu_id"};
    return {"batch_collect_assimilator", "--app", "up", "--outdir", (project_.folder() / "results").string()};
}

/// Jobs in the array. Upstream's feeder can add one once more that was just sent, which its scheduler then drops: of
/// theirs it is what was added since the array was last empty.
int LifeSide::in_array() const {
    if (whose_ == Whose::kOurs) return static_cast<int>(array_->stats().present);
    return added() - added_before_ - (sent_ - sent_before_);
}

int LifeSide::added() const { return times_in(feeder_->err() + feeder_->out(), "adding result ["); }

void LifeSide::array_is_empty() {
    sent_before_ = sent_;
    if (whose_ == Whose::kTheirs) added_before_ = added();
}

void LifeSide::hand_out() {
    for (int turn = 0; static_cast<int>(jobs_.size()) < instances(); ++turn) {
        const int wanted = std::min(settings_.slots, instances() - static_cast<int>(jobs_.size()));
        measured(LifeStage::kFeed, [&] { feed(wanted); });
        int got = 0;
        measured(LifeStage::kSend, [&] {
            for (int empty = 0; got < wanted && empty < 10;) {
                const auto jobs = request(next_host(), true, {});
                jobs_.insert(jobs_.end(), jobs.begin(), jobs.end());
                got += static_cast<int>(jobs.size());
                empty = jobs.empty() ? empty + 1 : 0;
            }
        });
        if (whose_ == Whose::kOurs || turn > 100) expect("jobs of the array that were sent", got, wanted);
        array_is_empty();
    }
    expect("results sent", results("server_state=4"), instances());
}

void LifeSide::feed(int wanted) {
    feeder_->send_signal(SIGCONT);
    const bool full = eventually([&] { return in_array() >= wanted; }, 60);
    feeder_->send_signal(SIGSTOP);
    if (!full)
        throw std::runtime_error(fmt::format("{}: {} of {} slots filled: {}", name_of(whose_), in_array(), wanted,
                                             feeder_->err() + feeder_->out()));
}

int LifeSide::next_host() { return 1 + next_host_++ % kHosts; }

std::vector<LifeSide::SentJob> LifeSide::request(int host, bool asks, const std::vector<SentJob>& reports) {
    RequestText r;
    r.authenticator = kTestKey;
    r.hostid = host;
    r.seqno = ++seqnos_[static_cast<std::size_t>(host)];
    r.ncpus = 1;  // <max_wus_to_send> is the number of jobs that a reply has
    r.list_others = false;
    r.work_seconds = asks ? 1e6 : 0;
    for (const SentJob& job : reports) r.reported.push_back(job.name);
    const std::string reply = run_counted({program("cgi")}, project_.web_request(r.text())).out;
    if (reply.find("</scheduler_reply>") == std::string::npos)
        throw std::runtime_error(fmt::format("{}: no reply: {}", name_of(whose_), reply));
    expect("reports acknowledged", times_in(reply, "<result_ack>"), static_cast<std::int64_t>(reports.size()));
    std::vector<SentJob> jobs;
    for (const std::string& result : elements(reply, "result"))
        jobs.push_back({elements(result, "name").at(0), elements(result, "file_name").at(0), host});
    sent_ += static_cast<int>(jobs.size());
    return jobs;
}

void LifeSide::upload(const SentJob& job) {
    const RunResult reply =
        run_counted({program("file_upload_handler")}, project_.web_request(upload_request(job.output)));
    if (reply.out.find("<status>0</status>") == std::string::npos)
        throw std::runtime_error(fmt::format("{}: upload: {}", name_of(whose_), reply.out));
}

void LifeSide::report() {
    std::map<int, std::vector<SentJob>> of_host;
    for (const SentJob& job : jobs_) of_host[job.host].push_back(job);
    for (const auto& [host, jobs] : of_host)
        for (std::size_t at = 0; at < jobs.size(); at += kJobsOfRequest)
            request(host, false,
                    {jobs.begin() + static_cast<std::ptrdiff_t>(at),
                     jobs.begin() + static_cast<std::ptrdiff_t>(std::min(at + kJobsOfRequest, jobs.size()))});
}

void LifeSide::begin_round() {
    cost_ = {};
    jobs_.clear();
    array_is_empty();
    last_id_ = project_.count(Sql("SELECT COALESCE(MAX(id),0) FROM workunit"));
    settle();
}

LifeCost LifeSide::stage_by_stage() {
    begin_round();
    stage_inputs();
    measured(LifeStage::kCreate, [&] { create_work(); });
    expect("workunits created", workunits("canonical_resultid=0"), settings_.jobs);
    transition();
    expect("results made", results("server_state=2"), instances());
    hand_out();
    measured(LifeStage::kUpload, [&] {
        for (const SentJob& job : jobs_) upload(job);
    });
    expect_files(true);
    measured(LifeStage::kReport, [&] { report(); });
    expect("results reported", results("server_state=5 AND outcome=1"), instances());
    transition();
    passes(LifeStage::kValidate, {"sample_bitwise_validator", "--app", "up", "--credit_from_wu"},
           [&] { return workunits("canonical_resultid=0") == 0; });
    expect("results valid", results("validate_state=1 AND granted_credit=1"), instances());
    transition();
    passes(LifeStage::kAssimilate, assimilator(), [&] { return workunits("assimilate_state<>2") == 0; });
    transition();
    passes(LifeStage::kDelete, {"file_deleter"},
           [&] { return workunits("file_delete_state<>2") == 0 && results("file_delete_state<>2") == 0; });
    expect_files(false);
    passes(LifeStage::kPurge, {"db_purge"}, [&] { return workunits("true") == 0; });
    end_round();
    return cost_;
}

/// Of this round no row is left, and all others are.
void LifeSide::end_round() {
    expect("results left", results("true"), 0);
    expect_collected();
    expect("results besides", project_.count(Sql("SELECT COUNT(*) FROM result")), settings_.rows / 2 * 2);
    const auto credit = static_cast<std::int64_t>(instances());
    granted_ += credit;
    expect("credit of the user", project_.count(Sql("SELECT ROUND(total_credit) FROM user WHERE id=1")), granted_);
}

/// Each host reports what it has, asks for more, and uploads that.
void LifeSide::serve_clients() {
    std::vector<std::vector<SentJob>> of_host(kHosts + 1);
    int reported = 0;
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(20);
    while (reported < instances()) {
        if (std::chrono::steady_clock::now() > until) throw std::runtime_error("jobs are left after 20 minutes");
        const int host = next_host();
        auto& has = of_host[static_cast<std::size_t>(host)];
        const bool asks = sent_ - sent_before_ < instances();
        if (has.empty() && !asks) continue;
        const auto jobs = request(host, asks, has);
        reported += static_cast<int>(has.size());
        if (has.empty() && jobs.empty()) wait(1);  // a client's back-off
        has = jobs;
        for (const SentJob& job : has) upload(job);
    }
}

/// db_purge would sleep for minutes.
std::deque<Subprocess> LifeSide::start_daemons() const {
    std::deque<Subprocess> daemons;
    const std::string sleep = std::to_string(settings_.sleep);
    for (std::vector<std::string> words : {std::vector<std::string>{"transitioner"},
                                           {"sample_bitwise_validator", "--app", "up", "--credit_from_wu"},
                                           assimilator(),
                                           {"file_deleter"}}) {
        words[0] = program(words[0]);
        if (settings_.sleep > 0) words.insert(words.end(), {"--sleep_interval", sleep});
        daemons.emplace_back(words, project_.run_options());
    }
    daemons.emplace_back(std::vector<std::string>{program("db_purge"), "--sleep", settings_.sleep > 0 ? sleep : "10"},
                         project_.run_options());
    return daemons;
}

CpuTime LifeSide::all_at_once() {
    begin_round();
    stage_inputs();
    const CpuTime before = used();
    feeder_->send_signal(SIGCONT);
    std::deque<Subprocess> daemons = start_daemons();
    create_work();
    serve_clients();
    const auto over = [&] {
        wait(1);
        return workunits("true") == 0;
    };
    const bool done = eventually(over, 300);
    for (Subprocess& daemon : daemons) daemon.send_signal(SIGTERM);
    for (Subprocess& daemon : daemons)
        if (const auto ended = daemon.wait(30)) ended_ += ended->cpu;
    feeder_->send_signal(SIGSTOP);
    settle();
    const CpuTime after = used();
    if (!done) throw std::runtime_error(fmt::format("{}: workunits are left after 300 s", name_of(whose_)));
    end_round();
    return after - before;
}

}  // namespace sluice::test
