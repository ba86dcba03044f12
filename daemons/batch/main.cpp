// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice_batch: batches of users from the command line. Upstream has web pages for this.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "config/db_settings.h"
#include "config/load.h"
#include "config/options/daemon_findings.h"
#include "daemons/batch/batch_commands.h"
#include "daemons/batch/pack.h"
#include "daemons/batch/quota_commands.h"
#include "daemons/batch/why_command.h"
#include "daemons/batches/shares.h"
#include "sched/explain/batch_refusals.h"
#include "sluice/base/clock.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/daemon/program.h"
#include "sluice/db/batch_plan_store.h"

namespace sluice {
namespace {

/// Keeps BatchPlanStore::note_submission() of a batch fresh for as long as its jobs are prepared and inserted.
class SubmissionNote {
  public:
    SubmissionNote(BatchPlanStore& plans, const Clock& clock, Id batch) : plans_(plans), clock_(clock), batch_(batch) {}

    /// For each job: costs nothing where the note is fresh. True: it is the first one.
    bool renew() {
        const double now = clock_.now();
        if (std::abs(now - noted_at_) < kEvery) return false;
        plans_.note_submission(batch_, now);
        const bool first = noted_at_ == 0;
        noted_at_ = now;
        return first;
    }

  private:
    static constexpr double kEvery = kPlanIsAwaited / 10;  ///< s

    BatchPlanStore& plans_;
    const Clock& clock_;
    Id batch_;
    double noted_at_ = 0;
};

/// What to tell of a batch of that app; "" if its jobs wait for nobody.
std::string assimilator_warning(const AppAssimilators& assimilators, Id batch, const std::string& app) {
    if (std::ranges::find(assimilators.idle, app) == assimilators.idle.end()) return "";
    return fmt::format(
        "batch {0}: the assimilator of app {1} is disabled in config.xml: jobs of the batch wait for it, and their files "
        "stay; enable it, or take it out of config.xml and give this command again",
        batch, app);
}

constexpr const char* kDescription =
    "create: makes a batch of --user for --app and prints its number.\n\n"
    "submit BATCH FILE: puts the jobs of FILE (- is standard input) into the batch, one a line, as for create_work "
    "--stdin. It writes a thousand at once or none. If it was killed, or a line was wrong, repeat the command: no "
    "job is submitted twice. The batch is in progress when all are in. With --gang_size N each N jobs that follow "
    "each other are a gang: they run at the same time and meet at gang_hub. Standard error names daemons that the "
    "batch needs and config.xml lacks.\n\n"
    "list: the batches, of --user or all; with --all also retired ones. show BATCH: one of them, what it cost, and "
    "what batch_watch noted of it.\n\n"
    "why BATCH: its place and the batches before it, what batch_planner plans, and what the scheduler would decide "
    "for the last 50 hosts that came.\n\n"
    "move BATCH --before OTHER: BATCH takes the place of OTHER, a batch of the same user. OTHER and those between "
    "wait for it. Needs <share_rule>.\n\n"
    "abort BATCH: cancels unsent jobs, and stops running ones at their hosts' next request. You may abort during a "
    "submission.\n\n"
    "quota: shows quotas; with --user one account's, with --set N sets it at once, 0 for none. Batches of a user "
    "without a quota come last. usage: what each user got in the last --days days, by kind of processor.\n\n"
    "pack BATCH: what assimilators have kept in results/BATCH of the project, as one archive for its owner: "
    "results/BATCH.tar.gz, or --archive FILE. It appears whole or not at all, and pack may be repeated while jobs come.\n\n"
    "retire BATCH: for a complete or aborted batch. Removes results/BATCH of the project, and lets db_purge take its "
    "jobs.\n\n"
    "A daemon or task of config.xml with 'assim' in its command is an assimilator of the app that it names, or of "
    "all. Jobs wait for a disabled one, and a warning says so. Without one, abort finishes the jobs that it cancels, "
    "and retire finishes all, so that their files can go.";

struct BatchArguments {
    std::vector<std::string> words;
    std::optional<Id> before;
    std::optional<double> quota;
    std::string user, app, name, description, archive;
    int days = 30;
    bool all = false, json = false;
    std::optional<int> gang_size;
    JobOptions job;
};

struct OpenProject {
    std::filesystem::path project;
    ProjectConfig config;
    Database db;
    std::unique_ptr<BatchOwnerStore> store;
    std::unique_ptr<BatchUpkeepStore> counts;
    std::unique_ptr<ShareStore> shares;
    std::unique_ptr<BatchPlanStore> plans;
    std::unique_ptr<BatchEventStore> events;
    std::unique_ptr<GangStore> gangs;
    std::unique_ptr<GangLeaseStore> leases;
    std::unique_ptr<QuotaStore> quotas;
    SystemClock clock;
    BatchCommands commands;

    explicit OpenProject(const std::filesystem::path& folder)
        : project(folder),
          config(load_config_and_warn(project)),
          db(db_settings(config)),
          store(make_batch_owner_store(db)),
          counts(make_batch_upkeep_store(db)),
          shares(make_share_store(db)),
          plans(make_batch_plan_store(db)),
          events(make_batch_event_store(db)),
          gangs(make_gang_store(db)),
          leases(make_gang_lease_store(db)),
          quotas(make_quota_store(db)),
          commands(*store, *counts, in_use(), clock) {}

    std::optional<SharesInUse> in_use() {
        auto settings = share_settings(config);
        if (!settings) return std::nullopt;
        if (const auto owner = owner_without_batch(config, *quotas).user) settings->owner_without_batch = owner->id;
        return SharesInUse{*shares, *settings};
    }
    WhyStores why_stores() const { return {*store, *shares, *plans, *gangs, *leases}; }
    /// The feeder of level 1 looks every minute by itself: a short batch may be over by then.
    void tell_feeder() const {
        if (share_settings(config)) ask_feeder_to_reread(project);
    }
};

/// The batch that the command is about.
Id batch_of(const BatchArguments& call) {
    if (call.words.size() < 2)
        throw ConfigError(call.words[0] + " needs the number of a batch: sluice_batch list shows them");
    const auto id = parse_int(call.words[1]);
    if (!id || *id <= 0)
        throw ConfigError("'" + in_one_line(call.words[1]) +
                          "' is not the number of a batch: sluice_batch list shows them");
    return *id;
}

int create(const BatchArguments& call, OpenProject& open) {
    if (call.user.empty()) throw ConfigError("create needs --user: whose batch is it?");
    if (call.app.empty()) throw ConfigError("create needs --app: which app do its jobs run?");
    const auto work = make_work_store(open.db);
    const auto app = work->app_by_name(call.app);
    if (!app)
        throw ConfigError("there is no app named '" + in_one_line(call.app) + "': bin/xadd adds those of project.xml");
    OwnedBatch batch;
    batch.row.user_id = user_id_of(*open.quotas, call.user);
    batch.row.app_id = app->id;
    batch.row.name = call.name;
    batch.app_name = app->name;
    batch.description = call.description;
    const Id id = open.commands.create(batch);
    fmt::print("{}", call.json ? show_json(open.commands.show(id)) : std::to_string(id) + "\n");
    return 0;
}

GangsToMake gangs_of(const BatchArguments& call, const ProjectConfig& config, GangStore& store) {
    if (!call.gang_size) return {store, 0, "", ""};
    if (*call.gang_size < 2 || *call.gang_size > GangsToMake::kMost)
        throw ConfigError(
            fmt::format("--gang_size {}: a gang has 2 to {} members", *call.gang_size, GangsToMake::kMost));
    if (config.gang_hub.empty())
        throw ConfigError("--gang_size needs <gang_hub> in config.xml: HOST:PORT where the members meet");
    parse_hub_address(config.gang_hub);
    store.prepare();
    return GangsToMake{store, *call.gang_size, gang_secret(config.key_dir), config.gang_hub};
}

SubmissionOutcome submit_file(const BatchArguments& call, OpenProject& open, const OwnedBatch& batch) {
    const std::string& file = call.words[2];
    std::ifstream opened;
    if (file != "-") {
        opened.open(file);
        if (!opened || std::filesystem::is_directory(file))
            throw FileError(
                fmt::format("batch {}: {} can't be read: give the file of its jobs, or - for standard input",
                            batch.row.id, in_one_line(file)));
    }
    if (batch.app_name.empty())
        throw ConfigError(fmt::format("batch {}: its app {} is not there any more", batch.row.id, batch.row.app_id));
    const auto work = make_work_store(open.db);
    JobMaker maker("sluice_batch", batch.app_name, open.project, open.config, *work);
    JobOptions defaults = call.job;
    defaults.batch = batch.row.id;
    Submission submission(maker, *work, defaults, gangs_of(call, open.config, *open.gangs));
    SubmissionNote note(*open.plans, open.clock, batch.row.id);
    const auto renew = [&] {
        // Since an earlier run was killed the feeder may take it for a stream.
        if (note.renew() && work->jobs_named(batch.row.id, "") > 0) open.tell_feeder();
    };
    if (open.config.plan_batches) submission.note_jobs_to_come(renew);
    const bool bar = isatty(STDERR_FILENO) != 0;
    const std::uint64_t size = bytes_of_file(file);
    const double started = open.clock.now();
    const auto progress = [&](std::uint64_t bytes, std::size_t jobs) {
        if (!bar) return;
        const double fraction = size == 0 ? -1 : static_cast<double>(bytes) / static_cast<double>(size);
        fmt::print(stderr, "\r{}\033[K", progress_text(fraction, jobs, open.clock.now() - started));
    };
    const SubmissionOutcome done = submission.run(file == "-" ? std::cin : opened, progress);
    if (bar) fmt::print(stderr, "\n");
    return done;
}

/// The jobs are in: what is wrong with <daemons> is no reason to fail, and bin/start tells it.
void warn_of_missing_daemons(const BatchArguments& call, const OpenProject& open) {
    const auto file = open.project / "config.xml";
    std::vector<std::string> missing;
    try {
        missing = missing_daemons(open.config, {.batches = true, .gangs = call.gang_size.has_value()},
                                  parse_daemons_and_tasks(read_file(file).value_or(""), file.string()));
    } catch (const ConfigError&) {
    }
    for (const std::string& line : missing) fmt::print(stderr, "sluice_batch: warning: {}\n", line);
}

int submit(const BatchArguments& call, OpenProject& open) {
    const Id id = batch_of(call);
    if (call.words.size() != 3)
        throw ConfigError(fmt::format("batch {}: submit needs the file of its jobs, or - for standard input", id));
    const OwnedBatch batch = open.commands.find(id);
    const SubmissionOutcome done = submit_file(call, open, batch);
    if (done.all() == 0)
        throw ConfigError(fmt::format("batch {}: {} has no jobs, one a line: the batch stays as it is", id,
                                      in_one_line(call.words[2])));
    const auto [state, without_quota] = open.commands.start(id);
    open.tell_feeder();
    if (without_quota)
        fmt::print(
            stderr,
            "sluice_batch: warning: batch {0}: its user {1} has no quota: its jobs come after all others; sluice_batch "
            "quota --user {1} --set 1 gives one\n",
            id, batch.row.user_id);
    warn_of_missing_daemons(call, open);
    // On a small fleet a gang may never begin.
    if (const auto missing = missing_hosts_now(open.why_stores(), open.clock, open.config, id); !missing.empty())
        fmt::print(stderr, "sluice_batch: warning: batch {}: gangs: {}\n", id, missing);
    if (state == BatchState::kAborted && batch.row.state != BatchState::kAborted)
        throw ConfigError(fmt::format("batch {}: it was aborted meanwhile", id));
    if (call.json)
        fmt::print("{{\"id\": {}, \"submitted\": {}, \"present\": {}}}\n", id, done.inserted, done.present);
    else
        fmt::print("batch {}: {} jobs submitted{}; it is {}\n", id, done.inserted,
                   done.present > 0 ? fmt::format(", {} were there already", done.present) : "", state_name(state));
    return 0;
}

int list(const BatchArguments& call, OpenProject& open) {
    constexpr int kMost = 1000;
    const Id user = call.user.empty() ? 0 : user_id_of(*open.quotas, call.user);
    auto batches = open.commands.list({user, call.all, kMost + 1});
    if (batches.size() > kMost) {
        batches.erase(batches.begin());
        fmt::print(stderr, "sluice_batch: only the newest {} are shown: retire what is over, or ask for one --user\n",
                   kMost);
    }
    for (const EtaFactors factors = open.plans->eta_factors(); BatchView & b : batches) b.eta_factors = factors;
    std::vector<Id> ids;
    for (const BatchView& b : batches) ids.push_back(b.batch.row.id);
    for (BatchEvent& note : open.events->of(ids))
        std::ranges::find(batches, note.batch, [](const BatchView& b) {
            return b.batch.row.id;
        })->notes.push_back(note);
    fmt::print("{}", call.json ? list_json(batches) : list_text(batches));
    return 0;
}

int show(const BatchArguments& call, OpenProject& open) {
    BatchView batch = open.commands.show(batch_of(call));
    const Id id = batch.batch.row.id;
    batch.notes = open.events->of({&id, 1});
    const EtaFacts facts = eta_facts(open.why_stores(), open.config, id);
    batch.no_eta = why_no_eta(batch, facts);
    batch.gangs = facts.gangs, batch.eta_factors = facts.eta_factors;
    fmt::print("{}", call.json ? show_json(batch) : show_text(batch));
    return 0;
}

int why(const BatchArguments& call, OpenProject& open) {
    const BatchView batch = open.commands.show(batch_of(call));
    const auto judge = [&](Id id, std::span<const Id> hosts, HostFactsOfBatch& facts) {
        const BatchRefusals found = refusals_of_batch(open.project, id, hosts);
        facts.judged = found.hosts, facts.would_get = found.would_get, facts.jobs_in_array = found.jobs_in_array;
        for (const auto& r : found.refusals) facts.refusals.push_back({r.reason, r.advice, r.hosts});
        if (found.jobs_in_array == 0) facts.note = "the job array holds no job of this batch at the moment";
        if (!found.blocked_by.empty()) facts.note = "nobody gets any job: " + found.blocked_by.front();
    };
    const BatchAnswer all = why_of(batch, open.why_stores(), open.config, judge);
    fmt::print("{}", call.json ? why_json(all) : why_text(all));
    return 0;
}

int move(const BatchArguments& call, OpenProject& open) {
    const Id id = batch_of(call);
    if (!call.before) throw ConfigError(fmt::format("batch {}: move needs --before: which of its user's batches?", id));
    open.commands.move(id, *call.before);
    open.tell_feeder();
    if (call.json) return show(call, open);
    fmt::print("batch {}: before batch {}\n", id, *call.before);
    return 0;
}

/// Whose jobs `abort` or `retire` finishes. Says so if the batch's jobs wait for an assimilator that is off.
std::vector<Id> unassimilated_apps(const BatchArguments& call, OpenProject& open) {
    const AppAssimilators found = app_assimilators(open.project, open.commands.apps());
    const Id id = batch_of(call);
    if (const auto line = assimilator_warning(found, id, open.commands.find(id).app_name); !line.empty())
        fmt::print(stderr, "sluice_batch: warning: {}\n", line);
    return found.none;
}

int after_change(const BatchArguments& call, OpenProject& open, const char* what) {
    if (call.json) return show(call, open);
    fmt::print("batch {}: {}\n", batch_of(call), what);
    return 0;
}

/// The account of --user, if it is given.
std::optional<NamedUser> user_of(const BatchArguments& call, OpenProject& open) {
    if (call.user.empty()) return std::nullopt;
    return find_user(*open.quotas, call.user);
}

int quota(const BatchArguments& call, OpenProject& open) {
    const auto user = user_of(call, open);
    if (call.quota) {
        if (!user) throw ConfigError("quota --set needs --user: whose quota?");
        set_quota(*open.quotas, *user, *call.quota);
        if (const auto in_use = open.in_use())
            reorder_batches(in_use->store, in_use->settings, open.clock.now());
        else
            fmt::print(stderr, "sluice_batch: warning: <share_rule> is off in config.xml: quotas decide nothing\n");
        open.tell_feeder();
    }
    const std::vector<QuotaRow> rows = quotas_with(*open.quotas, user);
    const auto only = user ? std::optional(user->id) : std::nullopt;
    fmt::print("{}", call.json ? quotas_json(rows, only) : quotas_text(rows, only));
    return 0;
}

int usage(const BatchArguments& call, OpenProject& open) {
    if (call.days < 1 || call.days > 3660) throw ConfigError("--days: a number from 1 to 3660");
    const auto user = user_of(call, open);
    const PlanClasses classes = load_plan_classes(open.project);
    UsageView view = usage_of(*open.quotas, {classes, open.config.compat_level}, open.clock.now(), call.days);
    if (const auto owner = owner_without_batch(open.config, *open.quotas).user) view.give_to(*owner);
    const auto only = user ? std::optional(user->id) : std::nullopt;
    if (user) view.names[user->id] = user->name;
    fmt::print("{}", call.json ? usage_json(view, only) : usage_text(view, only));
    return 0;
}

int pack(const BatchArguments& call, OpenProject& open) {
    const OwnedBatch batch = open.commands.find(batch_of(call));
    const std::string number = std::to_string(batch.row.id);
    const auto folder = open.project / "results" / number;
    if (!std::filesystem::is_directory(folder))
        throw ConfigError(
            fmt::format("batch {}: there is no folder {}: an assimilator that keeps files there makes it, such "
                        "as batch_collect_assimilator",
                        number, folder.string()));
    const std::filesystem::path archive = call.archive.empty() ? folder.string() + ".tar.gz" : call.archive;
    const Packed packed = pack_folder(folder, number, archive);
    if (packed.no_files > 0)
        fmt::print(stderr, "sluice_batch: warning: batch {}: {} links or devices in {} are not in the archive\n",
                   number, packed.no_files, folder.string());
    fmt::print("{}", call.json ? packed_json(batch.row.id, archive, packed) : packed_text(batch.row, archive, packed));
    return 0;
}

constexpr const char* kVerbs = "create, submit, list, show, why, move, quota, usage, pack, abort, retire";

int run(const BatchArguments& call) {
    struct Verb {
        const char* name;
        std::size_t words;  ///< that it takes at most, itself included
        std::function<int(OpenProject&)> run;
    };
    const Verb verbs[] = {
        {"create", 1, [&](OpenProject& open) { return create(call, open); }},
        {"submit", 3, [&](OpenProject& open) { return submit(call, open); }},
        {"list", 1, [&](OpenProject& open) { return list(call, open); }},
        {"show", 2, [&](OpenProject& open) { return show(call, open); }},
        {"why", 2, [&](OpenProject& open) { return why(call, open); }},
        {"move", 2, [&](OpenProject& open) { return move(call, open); }},
        {"quota", 1, [&](OpenProject& open) { return quota(call, open); }},
        {"usage", 1, [&](OpenProject& open) { return usage(call, open); }},
        {"pack", 2, [&](OpenProject& open) { return pack(call, open); }},
        {"abort", 2,
         [&](OpenProject& open) {
             open.commands.abort(batch_of(call), unassimilated_apps(call, open));
             return after_change(call, open, "aborted");
         }},
        {"retire", 2,
         [&](OpenProject& open) {
             open.commands.retire(batch_of(call), open.project, unassimilated_apps(call, open));
             open.gangs->remove(batch_of(call));
             return after_change(call, open, "retired");
         }},
    };
    for (const Verb& verb : verbs) {
        if (call.words[0] != verb.name) continue;
        if (call.words.size() > verb.words)
            throw ConfigError(
                fmt::format("{}: '{}' is one word too many", verb.name, in_one_line(call.words[verb.words])));
        OpenProject open(find_project_dir());
        return verb.run(open);
    }
    throw ConfigError("there is no command '" + in_one_line(call.words[0]) + "': use " + kVerbs);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    BatchArguments call;
    CommandLine line("sluice_batch", "make, watch and end batches of jobs", kDescription);
    line.positional(
        "COMMAND", call.words,
        "create | submit BATCH FILE | list | show BATCH | why BATCH | move BATCH | quota | usage | pack BATCH | abort BATCH | retire BATCH");
    line.option("--user", call.user,
                "create: the owner; list, quota, usage: only this user's; number, e-mail address or name", "USER");
    line.amount_option("--set", call.quota,
                       "quota: the new quota. A user's share is his quota divided by the sum of all; "
                       "0: none");
    line.option("--days", call.days, "usage: the last N days; default 30");
    line.id_option("--before", call.before, "move: another batch of the same user");
    line.option("--app", call.app, "create: short name of the app of all its jobs", "NAME");
    line.option("--name", call.name, "create: a name for people; default: app and time", "TEXT");
    line.option("--description", call.description, "create: any text", "TEXT");
    line.option("--gang_size", call.gang_size, "submit: each N jobs that follow each other run at the same time");
    line.option("--archive", call.archive, "pack: the file to write; default: results/BATCH.tar.gz of the project",
                "FILE");
    line.flag("--all", call.all, "list: retired ones, too");
    line.flag("--json", call.json, "print JSON");
    define_job_options(line, call.job);
    line.debug_level_option();
    line.section("LINES OF A FILE", "A line may hold these: " + job_line_options() +
                                        ". What all jobs have in common stands on the command line.");
    line.section("EXAMPLES",
                 "sluice_batch create --user 3 --app mandelbrot --name 'tiles of May'\n"
                 "sluice_batch submit 12 jobs.txt --rsc_fpops_est 4e12\n"
                 "sluice_batch show 12\n"
                 "sluice_batch pack 12\n"
                 "sluice_batch quota --user ada@example.org --set 2");
    return tool_main({"sluice_batch"}, [&] {
        log_open({});
        const auto rest = take_remote_files(argc, argv, call.job.files);
        if (const auto status = line.parse(static_cast<int>(rest.size()), rest.data())) return *status;
        if (call.words.empty()) return line.fail(std::string("give one of ") + kVerbs);
        return run(call);
    });
}
