// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/scheduler.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "config/db_settings.h"
#include "config/load.h"
#include "sched/cgi/relay_protocol.h"
#include "sched/cgi/request_body.h"
#include "sched/cgi/test_points.h"
#include "sched/cgi/unreached.h"
#include "sched/handle/known_account.h"
#include "sched/handle/request_metrics.h"
#include "sched/handle/shmem_job_pool.h"
#include "sched/rpc/messages.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/metrics.h"
#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/match/policies.h"

namespace sluice {
namespace {

// `cgi --batch`: requests one behind the other on standard input, for as long as it lasts. Each is handed out as soon
// as its end tag is there: the program at the other end may wait for a reply before it goes on.

class RequestStream {
  public:
    static constexpr std::string_view kEnd = "</scheduler_request>";

    /// Of a request longer than `limit` bytes nothing but its length is kept.
    RequestStream(Gateway& gateway, std::size_t limit) : gateway_(gateway), limit_(limit) {}

    /// The next request up to its end tag. At the end of the input: what is left, if it is more than white space; then
    /// nullopt. An input without any request is one empty request.
    std::optional<RequestBody> next();

  private:
    bool read_more();
    RequestBody take(std::size_t n);

    Gateway& gateway_;
    std::size_t limit_;
    std::string read_;          ///< not handed out yet
    std::size_t searched_ = 0;  ///< no end tag begins before this
    bool too_long_ = false;     ///< the beginning of this request was thrown away
    bool any_ = false, ended_ = false;
};

std::optional<RequestBody> RequestStream::next() {
    for (;;) {
        const std::size_t end = read_.find(kEnd, searched_);
        if (end != std::string::npos) return take(end + kEnd.size());
        searched_ = read_.size() - std::min(read_.size(), kEnd.size() - 1);
        if (read_.size() > limit_) {
            too_long_ = true;
            read_.erase(0, std::exchange(searched_, 0));
        }
        if (!read_more()) break;
    }
    const bool rest = too_long_ || !trim(read_).empty();
    if (ended_ || (any_ && !rest)) return std::nullopt;
    ended_ = true;
    return take(read_.size());
}

bool RequestStream::read_more() {
    char block[65536];
    const std::size_t n = gateway_.read(block, sizeof block, Deadline::max()).bytes;
    read_.append(block, n);
    return n > 0;
}

RequestBody RequestStream::take(std::size_t n) {
    any_ = true;
    searched_ = 0;
    RequestBody body;
    body.too_long = std::exchange(too_long_, false) || n > limit_;
    if (!body.too_long) body.text = read_.substr(0, n);
    read_.erase(0, n);
    return body;
}

constexpr std::size_t kColumn = 254;  // host.external_ip_addr

}  // namespace

std::string client_address(const std::string& remote_addr, std::string_view forwarded_for,
                           std::span<const AddressRange> proxies) {
    std::string address = remote_addr;
    const auto is_proxy = [&] { return std::ranges::any_of(proxies, [&](const auto& p) { return p.holds(address); }); };
    while (is_proxy()) {
        const std::size_t comma = forwarded_for.rfind(',');
        const std::string before(trim(forwarded_for.substr(comma + 1)));  // npos + 1 is 0
        if (before.empty()) break;
        address = before;
        forwarded_for = comma == std::string_view::npos ? std::string_view() : forwarded_for.substr(0, comma);
    }
    std::replace_if(
        address.begin(), address.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    if (address.size() > kColumn) address.resize(kColumn);
    return address.empty() ? "?.?.?.?" : address;
}

namespace {

constexpr double kDelayWithoutConfig = 3600;
/// Mode of copies of requests and logs: they hold account keys and volunteers' addresses.
constexpr int kNotForAll = 0640;

/// The folders below `folder`, where files come and go, and the files called `name` (any, if empty) in them.
void watch_contents(const fs::path& folder, std::string_view name, std::vector<fs::path>& files) {
    constexpr std::size_t kMost = 5000;
    constexpr int kDeepest = 2;  // buda_apps/APP/VARIANT/variant.json
    std::error_code error;
    for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end && files.size() < kMost;
         it.increment(error)) {
        std::error_code gone;
        if (it->is_directory(gone) || name.empty() || it->path().filename() == name) files.push_back(it->path());
        if (it.depth() >= kDeepest) it.disable_recursion_pending();
    }
}

constexpr const char* kStopSched = "stop_sched";
constexpr const char* kDebugSched = "debug_sched";

const char* const kConfigFiles[] = {"config.xml", "config_aux.xml"};

std::vector<fs::path> config_files(const fs::path& project) {
    std::vector<fs::path> files;
    for (const char* name : kConfigFiles) files.push_back(project / name);
    return files;
}

/// What is read beside the configuration, which says where the keys are.
std::vector<fs::path> other_files(const fs::path& project, const fs::path& key_dir) {
    std::vector<fs::path> files;
    for (const char* name : {"gui_urls.xml", "project_files.xml", "plan_class_spec.xml", "file_delete_regex",
                             "download_servers", "buda_apps"})
        files.push_back(project / name);
    files.push_back(key_dir / "code_sign_public");
    files.push_back(key_dir);
    watch_contents(project / "buda_apps", "variant.json", files);
    watch_contents(key_dir, "", files);
    return files;
}

std::vector<AddressRange> proxies_of(const ProjectConfig& config) {
    std::vector<AddressRange> proxies;
    for (const std::string& text : config.trusted_proxy)
        if (const auto range = AddressRange::parse(text)) proxies.push_back(*range);
    return proxies;
}

DbSettings impatient(DbSettings settings) {
    settings.interactive = true;
    return settings;
}

}  // namespace

struct Scheduler::Loaded {
    explicit Loaded(ProjectConfig c)
        : config(std::move(c)),
          files(load_project_files(config)),
          limits(request_limits(config)),
          proxies(proxies_of(config)),
          db(impatient(db_settings(config))),
          stores(db) {}
    ProjectConfig config;
    ProjectFiles files;
    RequestLimits limits;
    std::vector<AddressRange> proxies;
    Database db;
    MysqlRpcStores stores;
};

Scheduler::Scheduler(fs::path project, SchedulerOptions options)
    : project_(std::move(project)), options_(options), rng_(make_system_rng()) {
    open_log();
    metrics_open(project_, "scheduler");
    report_unreached(project_);
    load();
}
Scheduler::~Scheduler() = default;

/// log_HOST/scheduler.log; where that can't be, stderr (the web server's error log) has to do.
void Scheduler::open_log() {
    LogOptions log;
    log.with_pid = true;
    try {
        if (options_.debug_log) {
            log.file = "debug_log";
        } else {
            make_log_folder(project_, ::geteuid());
            log.file = (log_dir(project_) / "scheduler.log").string();
        }
        log_open(log);
    } catch (const Error& e) {
        log.file.clear();
        log_open(log);
        log_once_an_hour(LogLevel::kCritical, fmt::format("{}; logging to stderr", e.what()));
    }
}

/// An admin who changed config.xml looks at the log soon. Under CGI the same warnings at every request, for ever, would
/// bury the rest of it (feeder and sluice_options go on to say them).
static bool config_is_new(const fs::path& project, std::int64_t now) {
    constexpr std::int64_t kHour = 3600;
    for (const char* name : kConfigFiles) {
        struct stat info {};
        if (::stat((project / name).c_str(), &info) == 0 && info.st_mtime > now - kHour) return true;
    }
    return false;
}

void Scheduler::load() {
    watch_anew_ = true;
    // Each file is looked at before it is read: one that changes meanwhile is read again.
    watched_config_.watch(config_files(project_));
    try {
        LoadedConfig read = load_config(project_);
        if (const auto hook = test_hook()) hook("config_read");
        drop_unknown_weights(read, score_term_names());
        if (config_is_new(project_, clock_.now_sec())) log_problems(read);
        ProjectConfig config = std::move(read.config);
        require_database(config);
        limit_memory(static_cast<std::uint64_t>(config.max_process_memory));
        log_set_format(config.log_format);
        log_set_level(static_cast<LogLevel>(std::clamp(config.sched_debug_level, 1, 4)));
        watched_.watch(other_files(project_, config.key_dir));
        load_problem_ = messages::kNoKeyFile;
        auto loaded = std::make_unique<Loaded>(std::move(config));
        for (const std::string& problem : loaded->files.problems) log_warning("{}", problem);
        if (loaded_ && loaded_->config.shmem_key != loaded->config.shmem_key) array_.reset();
        loaded_ = std::move(loaded);
        load_problem_.clear();
    } catch (const std::exception& e) {
        log_critical("{}{}", e.what(), loaded_ ? "; going on with the configuration read before" : "");
        if (load_problem_.empty()) load_problem_ = messages::kCantParseConfig;
    }
}

std::string Scheduler::early(const std::string& message) const {
    return write_early_reply(message, loaded_ ? delay_while_down(loaded_->config, *rng_) : kDelayWithoutConfig,
                             loaded_ && loaded_->config.ended);
}

std::string Scheduler::unserved(const std::string& message) const {
    count_unavailable();
    return early(message);
}

std::string Scheduler::remote_address(const Gateway& gateway) const {
    return client_address(gateway.variable("REMOTE_ADDR"), gateway.variable("HTTP_X_FORWARDED_FOR"),
                          loaded_ ? std::span<const AddressRange>(loaded_->proxies) : std::span<const AddressRange>());
}

void Scheduler::log_headers(const Gateway& gateway) const {
    if (!loaded_) return;
    if (loaded_->config.debug_request_details)
        log_normal("(req details) REQUEST_METHOD={} CONTENT_TYPE={} HTTP_ACCEPT={} HTTP_USER_AGENT={}",
                   gateway.variable("REQUEST_METHOD"), gateway.variable("CONTENT_TYPE"),
                   gateway.variable("HTTP_ACCEPT"), gateway.variable("HTTP_USER_AGENT"));
    if (loaded_->config.debug_request_headers)
        log_normal("CONTENT_LENGTH={} from {}", gateway.variable("CONTENT_LENGTH"), remote_address(gateway));
    if (loaded_->config.debug_fcgi)
        log_normal("[fcgi] serving request {} of this process; {}", requests_,
                   gateway.persistent() ? "FastCGI" : "CGI, there will be no other");
}

/// <debug_req_reply_dir>: every pair of request and reply, and what was logged meanwhile.
void Scheduler::keep_copy(const char* kind, std::string_view text) {
    if (!loaded_ || loaded_->config.debug_req_reply_dir.empty()) return;
    const fs::path file =
        fs::path(loaded_->config.debug_req_reply_dir) / fmt::format("{}_{}_sched_{}.xml", ::getpid(), requests_, kind);
    try {
        write_file_atomically(file, text, kNotForAll);
    } catch (const Error& e) {
        log_critical("debug_req_reply_dir: {}", e.what());
    }
}

void Scheduler::start_copy() {
    if (loaded_ && !loaded_->config.debug_req_reply_dir.empty()) log_start_copy();
}

void Scheduler::keep_log() {
    const std::string lines = log_take_copy();
    if (!loaded_ || loaded_->config.debug_req_reply_dir.empty()) return;
    const fs::path file =
        fs::path(loaded_->config.debug_req_reply_dir) / fmt::format("{}_{}_sched.log", ::getpid(), requests_);
    try {
        write_file_atomically(file, lines, kNotForAll);
    } catch (const Error& e) {
        log_critical("debug_req_reply_dir: {}", e.what());
    }
}

/// PROJECT/debug_sched: while it exists, the last pair of each host is left in <debug_req_reply_dir>, or else in the
/// current folder (cgi-bin), where the web server's account can't write in a project that is set up well.
void Scheduler::leave_in_folder(std::string_view request, std::string_view reply) {
    const ParsedRequest parsed = parse_request(request, loaded_ ? loaded_->limits : RequestLimits{});
    const SchedulerRequest who = parsed.request.value_or(SchedulerRequest{});
    for (const auto& [kind, text] : {std::pair{"request", request}, std::pair{"reply", reply}}) {
        const fs::path folder = loaded_ ? loaded_->config.debug_req_reply_dir : "";
        const std::string file = folder / fmt::format("sched_{}_{:06}_{:06}", kind, who.hostid, who.rpc_seqno);
        try {
            write_file_atomically(file, text, kNotForAll);
            log_debug("Found debug_sched, so writing {}", file);
        } catch (const Error& e) {
            log_critical("Found debug_sched, but can't write {}: {}; name a folder with <debug_req_reply_dir>", file,
                         e.what());
        }
    }
}

SchedulerArray& Scheduler::job_array() {
    if (array_ && !array_->open_and_filled() && !array_->current()) array_.reset();
    if (!array_) {
        array_ = SchedulerArray::attach(job_array_name(loaded_->config.shmem_key, loaded_->config.project_dir));
        array_->set_test_hook(test_hook());
        watch_anew_ = true;
    }
    return *array_;
}

std::string Scheduler::cant_answer(const std::exception& why) const {
    log_critical("request not handled: {}", why.what());
    return unserved("Server error: try again later");
}

std::string Scheduler::answer_with_jobs(const Gateway& gateway, const RequestText& request) {
    SchedulerArray& array = job_array();
    if (!array.open_and_filled()) {
        log_critical("the feeder has not filled the job array yet, or has stopped; start the project's feeder");
        return unserved(messages::kFeederNotRunning);
    }
    const auto tables = array.tables();
    ShmemJobPool pool(array);
    Loaded& l = *loaded_;
    const std::uint64_t statements = l.db.statements(), commits = l.db.commits();
    const auto start = std::chrono::steady_clock::now();
    RpcServices services{l.config, l.files, l.config, *tables, pool, l.stores.stores(), Env{clock_, *rng_}, l.limits};
    services.log = RpcLog(log_line);
    services.remote_address = remote_address(gateway);
    services.ignore_seqno = options_.batch;
    services.wait = [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); };
    services.at_point = test_hook();
    std::string reply = handle_rpc(services, request);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    log_debug("RPC: {} SQL statements, {} commits, {:.1f} ms", l.db.statements() - statements, l.db.commits() - commits,
              took.count());
    return reply;
}

std::string Scheduler::answer(const Gateway& gateway, const RequestText& request) {
    if (!loaded_) return unserved(load_problem_);
    if (stopped_) return unserved(messages::kMaintenance);
    try {
        return answer_with_jobs(gateway, request);
    } catch (const ShmemError& e) {
        const bool absent = dynamic_cast<const FeederNotRunning*>(&e) != nullptr;
        if (absent)
            log_critical("{}", e.what());
        else  // a wrong <httpd_user>, say: no request is served until somebody mends it
            log_once_an_hour(LogLevel::kCritical, e.what());
        array_.reset();
        return unserved(absent ? messages::kFeederNotRunning : messages::kCantAttachShmem);
    } catch (const std::exception& e) {
        return cant_answer(e);
    }
}

void Scheduler::look_for_triggers() {
    stopped_ = !options_.debug_log && (fs::exists(project_ / kStopSched) || fs::exists(project_ / relay::kMoving));
    leave_pairs_ = fs::exists(project_ / kDebugSched);
}

std::vector<fs::path> Scheduler::what_requests_depend_on() const {
    std::vector<fs::path> files = watched_config_.files();
    files.insert(files.end(), watched_.files().begin(), watched_.files().end());
    for (const char* name : {kStopSched, relay::kMoving, kDebugSched}) files.push_back(project_ / name);
    files.push_back(log_dir(project_) / "");
    if (array_)
        for (fs::path& file : array_->files()) files.push_back(std::move(file));
    return files;
}

/// What changed since the request before: the log was moved away, the configuration written anew, the feeder restarted.
void Scheduler::refresh() {
    if (requests_++ == 0) return look_for_triggers();  // the rest was read just now; a CGI watches nothing
    if (std::exchange(watch_anew_, false)) notice_.watch(what_requests_depend_on());
    if (!notice_.any() && loaded_) return;
    log_follow_rotation();
    const bool config = watched_config_.changed(), others = watched_.changed();
    if (config || others || !loaded_) load();
    if (array_ && !array_->current()) array_.reset();
    look_for_triggers();
}

void Scheduler::serve(Gateway& gateway) {
    try {
        serve_request(gateway);
    } catch (const std::bad_alloc& e) {  // <max_process_memory>
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        for (char rest[4096]; gateway.read(rest, sizeof rest, until).bytes > 0;) {
        }
        gateway.write(cant_answer(e));
    }
}

void Scheduler::serve_request(Gateway& gateway) {
    if (options_.batch) return serve_stream(gateway);
    refresh();
    const auto held = gateway.held();
    if (held && held->kind == HeldKind::kQuestion)
        return gateway.write(std::to_string(is_known(held->text) ? max_bytes() : 0));
    start_copy();
    if (held) return respond(gateway, {"", held->text, held->kind == HeldKind::kBeginning});
    BodyRules rules;
    rules.limit = max_bytes();
    rules.known = [this](std::string_view beginning) { return is_known(beginning); };
    RequestBody body = drain(gateway, rules);
    look_for_triggers();  // it may have taken long
    respond(gateway, std::move(body));
}

void Scheduler::serve_stream(Gateway& gateway) {
    RequestStream stream(gateway, max_bytes());
    while (auto body = stream.next()) {
        refresh();
        start_copy();
        respond(gateway, std::move(*body));
    }
}

std::size_t Scheduler::max_bytes() const { return loaded_ ? loaded_->limits.max_bytes : RequestLimits{}.max_bytes; }

/// May the sender of this beginning send much? False, too, while nobody would be served.
bool Scheduler::is_known(std::string_view beginning) {
    if (!loaded_ || stopped_) return false;
    try {
        return account_is_known(loaded_->stores.stores().accounts, beginning);
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        return false;
    }
}

/// Is it shorter than its client has said? That one has gone, or has lied: jobs would be sent to nobody, even though
/// what came may look like a whole request.
bool Scheduler::broke_off(const Gateway& gateway, const RequestBody& body) const {
    return !options_.batch && !body.too_long && static_cast<std::int64_t>(body.view().size()) < content_length(gateway);
}

void Scheduler::respond(Gateway& gateway, RequestBody body) {
    log_headers(gateway);
    keep_copy("request", body.view());
    const bool cut_off = broke_off(gateway, body);
    if (body.too_slow || cut_off) log_warning("request from {} broke off or came too slowly", remote_address(gateway));
    if (cut_off) {
        body.text = std::string(body.view().substr(0, body.view().find(RequestStream::kEnd)));
        body.held = {};
    }
    if (body.too_long) {
        log_warning("request from {} is longer than <max_request_bytes> {}, or than {} without the key of an account",
                    remote_address(gateway), max_bytes(), kBeginning);
        body.text = std::string(body.view()).append(RequestStream::kEnd);
        body.held = {};
    }
    const auto forget = [&] {
        if (leave_pairs_) return;
        std::string().swap(body.text);
        body.held = {};
        gateway.release_held();
    };
    const auto forget_beginning = [&](std::size_t bytes) { gateway.page_out_held(bytes); };
    const std::string reply = answer(gateway, {body.view(), !body.too_long, forget, forget_beginning});
    keep_copy("reply", reply);
    if (leave_pairs_) leave_in_folder(body.view(), reply);
    keep_log();
    gateway.write(reply);
}

}  // namespace sluice
