// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/status/surveyor.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "config/load.h"
#include "config/run/configured_programs.h"
#include "sluice/base/apart.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/daemon/version.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/db/batch_store.h"
#include "sluice/db/batch_watch_store.h"
#include "sluice/shmem/job_array.h"

namespace sluice {
namespace {

constexpr double kSeldom = 3600, kSoon = 30;  ///< s
constexpr int kShareDays = 30;
constexpr std::chrono::seconds kPatience{2};  ///< with the file system of a folder

ArrayShape shape_of(const JobArray& array) {
    const JobArrayStats stats = array.stats();
    ArrayShape shape{stats.slots,
                     stats.present,
                     stats.claimed,
                     stats.empty,
                     static_cast<std::int64_t>(stats.segment_bytes),
                     static_cast<std::int64_t>(stats.claims_lost),
                     static_cast<std::int64_t>(stats.reclaimed),
                     static_cast<std::int64_t>(stats.mended),
                     static_cast<double>(stats.feeder_heartbeat),
                     array.ready(),
                     {}};
    std::map<std::pair<Id, int>, ArrayPart> parts;
    for (std::uint32_t i = 0; i < array.size(); ++i) {
        JobSummary job;
        SlotRef ref;
        const SlotState state = array.read(i, job, ref);
        if (state != SlotState::kPresent) continue;  // of a claimed one the content is not known
        ArrayPart& part = parts[{job.app_id, job.size_class}];
        part.app = job.app_id;
        part.size_class = job.size_class;
        ++part.present;
    }
    for (const auto& [key, part] : parts) shape.parts.push_back(part);
    return shape;
}

void read_array(const ProjectConfig& config, ProjectSurvey& survey) {
    try {
        const auto array = JobArray::attach_read_only(job_array_name(config.shmem_key, config.project_dir));
        survey.array = shape_of(*array);
    } catch (const ShmemError& e) {
        survey.array_error = e.what();
    }
}

/// "transitioner", "sample_bitwise_validator (uppercase)".
std::string shown_command(const ConfiguredProgram& program) {
    std::string shown = program.words.empty() ? program.cmd : fs::path(program.words.front()).filename().string();
    for (std::size_t i = 1; i + 1 < program.words.size(); ++i)
        if (program.words[i] == "-app" || program.words[i] == "--app" || program.words[i] == "-app_name" ||
            program.words[i] == "--app_name")
            shown += " (" + program.words[i + 1] + ")";
    return in_one_line(shown, 100);
}

/// Which files are locked, and from where on. Read from /proc: to open a lock file and close it again would end the
/// locks that this process holds there itself, and bin/start would start it a second time.
std::set<std::pair<std::uint64_t, std::int64_t>> held_locks() {
    std::set<std::pair<std::uint64_t, std::int64_t>> held;
    std::ifstream locks("/proc/locks");
    // "7: POSIX  ADVISORY  WRITE 4711 08:01:131072 0 EOF"; who waits has "->" behind the number.
    for (std::string text; std::getline(locks, text);) {
        std::istringstream line(text);
        std::string number, kind, advisory, mode, pid, file;
        std::int64_t start = 0;
        if (!(line >> number >> kind >> advisory >> mode >> pid >> file >> start) || kind == "->") continue;
        if (const auto inode = parse_int(file.substr(file.rfind(':') + 1)))
            held.emplace(static_cast<std::uint64_t>(*inode), start);
    }
    return held;
}

std::uint64_t inode_of(const fs::path& file) {
    struct stat info {};
    return ::stat(file.c_str(), &info) == 0 ? info.st_ino : 0;
}

void read_daemons(const ProjectConfig& config, ProjectSurvey& survey) {
    const fs::path file = fs::path(config.project_dir) / "config.xml";
    const HostFolders folders = host_folders(config, short_host_name());
    const ConfiguredPrograms programs =
        configured_programs(parse_daemons_and_tasks(read_file(file).value_or(""), file.string()), config, folders);
    const auto held = held_locks();
    const std::uint64_t guard = inode_of(folders.guard);
    for (const ConfiguredProgram& p : programs.daemons) {
        const bool runs = held.contains({inode_of(p.lock_file), 0}) || held.contains({guard, p.place});
        survey.daemons.push_back(
            {shown_command(p), p.words.empty() ? "" : fs::path(p.words.front()).filename().string(), p.disabled, runs});
    }
}

OpenBatch shown_batch(OwnedBatch b) {
    return {b.row.id,
            std::move(b.row.name),
            std::move(b.app_name),
            b.row.njobs,
            b.row.nerror_jobs,
            std::clamp(finite_or_zero(b.row.fraction_done), 0.0, 1.0),
            std::max(0.0, finite_or_zero(b.row.est_completion_time)),
            b.row.create_time,
            b.row.state != BatchState::kInProgress,
            {},
            {}};
}

/// Those in progress, and those that batch_watch stopped lately, with its notes.
std::vector<OpenBatch> open_batches(Database& db, double now) {
    constexpr std::int64_t kAWeek = 7 * 86400;
    constexpr int kMostStopped = 20;
    const auto store = make_batch_owner_store(db);
    const auto events = make_batch_event_store(db);
    std::vector<OpenBatch> shown;
    for (OwnedBatch& b : store->list({.limit = ProjectSurvey::kMostBatches, .in_progress = true}))
        shown.push_back(shown_batch(std::move(b)));
    const std::int64_t since = static_cast<std::int64_t>(now) - kAWeek;
    for (const BatchEvent& e : events->since(BatchEventKind::kStopped, since, kMostStopped))
        if (auto b = store->batch(e.batch); b && b->row.state == BatchState::kAborted)
            shown.push_back(shown_batch(std::move(*b)));
    std::vector<Id> ids;
    for (const OpenBatch& b : shown) ids.push_back(b.id);
    for (const BatchEvent& e : events->of(ids)) {
        OpenBatch& batch = *std::ranges::find(shown, e.batch, &OpenBatch::id);
        batch.notes.push_back(std::string(event_name(e.kind)) + ": " + e.says);
        batch.noted[event_name(e.kind)] = e.at;
    }
    return shown;
}

/// A step that may fail by itself. Its error, or "".
template <typename Step>
std::string error_of(Step step) {
    try {
        step();
        return "";
    } catch (const std::exception& e) {
        return e.what();
    }
}

}  // namespace

std::string FolderLook::error(std::chrono::milliseconds patience) {
    if (!answer_.valid()) answer_ = begin_apart<DiskFacts>([path = path_] { return look_at_disk("", path); });
    if (answer_.wait_for(patience) != std::future_status::ready) return path_ + ": the file system does not answer";
    return why_unusable(answer_.get());
}

Surveyor::Surveyor(const ProjectConfig& config, Database& db)
    : config_(config),
      db_(db),
      store_(make_survey_store(db)),
      health_(make_health_store(db)),
      uploads_(config.upload_dir),
      downloads_(config.download_dir) {}

ProjectSurvey Surveyor::read(double now) {
    ProjectSurvey survey;
    survey.now = now;
    survey.project = config_.long_name;
    survey.url = config_.master_url;
    survey.host = short_host_name();
    survey.version = sluice_version();
    const fs::path project = config_.project_dir;
    survey.schema_revision = std::string(trim(in_one_line(read_file(project / "db_revision").value_or(""), 40)));
    survey.scheduler_stopped = fs::exists(project / "stop_sched");
    survey.uploads_stopped = fs::exists(project / "stop_upload");
    survey.uploads_error = uploads_.error(kPatience);
    survey.downloads_error = downloads_.error(kPatience);
    read_array(config_, survey);
    if (const std::string error = error_of([&] { read_daemons(config_, survey); }); !error.empty())
        log_once_an_hour(LogLevel::kWarning, error);
    survey.database_error = error_of([&] {
        try {
            read_database(survey);
        } catch (const DbError& e) {
            survey.database_error_kind = e.kind(), survey.database_error_code = e.code();
            throw;
        }
    });
    survey.database = survey.database_error.empty();
    survey.app_names = app_names_;
    if (!survey.database) log_once_an_hour(LogLevel::kWarning, survey.database_error);
    return survey;
}

void Surveyor::read_database(ProjectSurvey& survey) {
    survey.work = store_->work();
    for (const AppWork& app : survey.work) app_names_[app.app] = app.name;
    const auto now = static_cast<std::int64_t>(survey.now);
    for (const AppWork& app : survey.work) survey.last_hour[app.app] = health_->last_outcomes(app.app, now).last_hour;
    survey.backlog = store_->backlog(now);
    // Batches and shares rest on tables that a database of upstream's may lack.
    const auto may_lack = [&](const auto& step) {
        if (const std::string error = error_of(step); !error.empty()) log_once_an_hour(LogLevel::kWarning, error);
    };
    may_lack([&] { survey.batches = open_batches(db_, survey.now); });
    may_lack([&] { survey.to_tell = make_batch_event_store(db_)->to_tell(); });
    may_lack([&] { survey.eta_factors = make_batch_plan_store(db_)->eta_factors(); });
    if (config_.share_rule != ShareOrder::kOff) may_lack([&] { read_shares(survey); });
    // What the status page shows of a day is not worth an alarm.
    if (!seldom_ || survey.now >= seldom_->next || survey.now < seldom_->read_at)
        may_lack([&] { read_seldom(survey.now); });
    if (!seldom_) return;
    survey.last_day = seldom_->last_day;
    survey.community = seldom_->community;
    survey.server_version = seldom_->server_version;
}

void Surveyor::read_seldom(double now) {
    const auto second = static_cast<std::int64_t>(now);
    // A project that has just begun changes quickly.
    first_read_ = first_read_ > 0 ? std::min(first_read_, now) : now;
    const double next = now + std::clamp(now - first_read_, kSoon, kSeldom);
    seldom_ = Seldom{now, next, store_->last_day(second), store_->community(second), store_->server_version()};
}

void Surveyor::read_shares(ProjectSurvey& survey) {
    const auto shares = make_share_store(db_);
    std::map<Id, ShareOfUser> users;
    double quotas = 0, all = 0;
    for (const ShareUser& u : shares->users()) {
        const double quota = std::clamp(finite_or_zero(u.quota), 0.0, share::kMostQuota);
        quotas += users[u.id].owed = quota;
    }
    for (const DailyWork& d : shares->work_by_day(static_cast<std::int64_t>(survey.now / 86400) - kShareDays + 1))
        if (std::isfinite(d.operations) && d.operations > 0) all += d.operations, users[d.user_id].got += d.operations;
    for (auto& [id, u] : users)
        survey.shares.push_back({id, quotas > 0 ? u.owed / quotas : 0, all > 0 ? u.got / all : 0});
}

}  // namespace sluice
