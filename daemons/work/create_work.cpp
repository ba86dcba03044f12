// SPDX-License-Identifier: LGPL-3.0-or-later
// create_work: makes workunits (upstream's program of that name, same options). The transitioner makes their results.
//
// One job from the command line, or with --stdin one a line, inserted in bulk and all or nothing per chunk.
#include <fmt/core.h>

#include <fstream>
#include <iostream>
#include <optional>
#include <span>
#include <utility>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/work/job_maker.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"
#include "sluice/daemon/program.h"
#include "sluice/db/work_store.h"

namespace sluice {
namespace {

/// Rows a transaction of --stdin: large enough to be fast, small enough to undo.
constexpr std::size_t kChunk = 1000;

struct Invocation {
    JobOptions job;
    std::string app_name, config_dir;
    Id wu_id = 0;
    bool from_stdin = false, continue_on_error = false, verbose = false;
    std::vector<std::string> infiles;
};

class Creator {
  public:
    Creator(const Invocation& call, const fs::path& project, const ProjectConfig& config, WorkStore& store)
        : call_(call),
          store_(store),
          maker_("create_work", call.app_name, project, config, store),
          needs_batch_(config.refuses_jobs_without_batch()) {
        if (call.job.batch <= 0) return;
        const auto state = store_.batch_state(call.job.batch);
        if (!state && needs_batch_) refuse_without_batch(fmt::format("there is no batch {}", call.job.batch));
        if (!state)
            fmt::print(
                stderr,
                "create_work: warning: there is no batch {} in the database: its jobs will carry the number, but "
                "belong to no batch that the web pages and the batch daemons know\n",
                call.job.batch);
        else if (*state != BatchState::kInit && *state != BatchState::kInProgress)
            fmt::print(
                stderr,
                "create_work: warning: batch {} is over (complete, aborted or retired): its jobs will be sent, but "
                "nothing counts them any more; sluice_batch create makes another batch\n",
                call.job.batch);
    }

    /// The workunit with XML and checks done; not in the database yet.
    Workunit prepare(const JobOptions& job) {
        Workunit w = maker_.prepare(job);
        if (needs_batch_ && w.batch == 0 && call_.wu_id == 0) refuse_without_batch("the job has no batch");
        if (job.wu_name.empty()) fmt::print("workunit name: {}\n", w.name);
        return w;
    }

    const JobMaker& maker() const { return maker_; }

    /// The workunit's name.
    std::string add(const JobOptions& job) {
        Workunit w = prepare(job);
        std::string name = w.name;
        rows_.push_back(maker_.rows_of(job, w));
        workunits_.push_back(std::move(w));
        if (workunits_.size() >= kChunk) flush();
        return name;
    }
    /// Inserts what was collected, all or nothing. If a name is taken and --continue_on_error was given: one by one.
    void flush() {
        std::vector<Workunit> workunits = std::exchange(workunits_, {});
        const std::vector<JobRows> rows = std::exchange(rows_, {});
        if (workunits.empty()) return;
        try {
            store_.insert(workunits, rows);
            created_ += workunits.size();
        } catch (const DbError& e) {
            if (e.kind() != DbError::Kind::kDuplicate) throw;
            if (!call_.continue_on_error) refuse_taken(workunits, e);
            insert_each(workunits, rows);
        }
    }
    std::size_t refused() const { return refused_; }  ///< by flush(), because of their names
    std::size_t created() const { return created_; }

  private:
    [[noreturn]] static void refuse_without_batch(const std::string& why) {
        throw ConfigError(why +
                          ", and <jobs_without_batch> of config.xml refuses jobs without one: give --batch; "
                          "sluice_batch create --user USER --app APP makes one");
    }
    [[noreturn]] static void refuse_taken(const std::vector<Workunit>& workunits, const DbError& why) {
        if (workunits.size() == 1) throw ConfigError("there is a workunit named '" + workunits[0].name + "' already");
        const std::string text = why.what();
        throw ConfigError(fmt::format("one of {} names is taken ({}); none of these jobs was created", workunits.size(),
                                      text.substr(0, text.find(" ["))));
    }
    void insert_each(std::vector<Workunit>& workunits, const std::vector<JobRows>& rows) {
        for (std::size_t i = 0; i < workunits.size(); ++i) {
            try {
                store_.insert(std::span(workunits).subspan(i, 1), std::span(rows).subspan(i, 1));
                ++created_;
            } catch (const DbError& e) {
                if (e.kind() != DbError::Kind::kDuplicate) throw;
                ++refused_;
                fmt::print(stderr, "create_work: there is a workunit named '{}' already\n", workunits[i].name);
            }
        }
    }

    const Invocation& call_;
    WorkStore& store_;
    JobMaker maker_;
    bool needs_batch_;
    std::vector<Workunit> workunits_;
    std::vector<JobRows> rows_;
    std::size_t created_ = 0, refused_ = 0;
};

void define_options(CommandLine& line, Invocation& c, std::int64_t& batch) {
    JobOptions& j = c.job;
    line.option("--appname", c.app_name, "short name of the app (required)", "NAME");
    line.option("--wu_name", j.wu_name, "name of the workunit; default: made from app, pid and time", "NAME");
    line.option("--batch", batch, "batch of the job");
    define_job_options(line, j);
    line.flag("--broadcast", j.broadcast, "one instance on every host");
    line.option("--broadcast_user", j.broadcast_user, "one instance on every host of this user", "ID");
    line.option("--broadcast_team", j.broadcast_team, "one instance on every host of this team", "ID");
    line.option("--target_host", j.target_host, "only this host", "ID");
    line.option("--target_user", j.target_user, "only hosts of this user", "ID");
    line.option("--target_team", j.target_team, "only hosts of this team", "ID");
    line.flag("--stdin", c.from_stdin, "read one job a line: options and input files");
    line.flag("--continue_on_error", c.continue_on_error, "with --stdin: skip lines that are wrong");
    line.option("--config_dir", c.config_dir, "the project's folder", "PATH");
    line.option("--wu_id", c.wu_id, "overwrite this workunit instead of making one", "ID");
    line.flag("--verbose", c.verbose, "say what is done");
    line.positional("infile", c.infiles, "input files, staged with stage_file");
    line.debug_level_option();
    line.section("LINES OF --stdin", "A line may hold these: " + job_line_options() +
                                         ". What all jobs have in common stands on the command line.");
}

int create_from_stdin(const Invocation& call, Creator& creator) {
    std::size_t wrong = 0;
    std::string text;
    for (int number = 1; std::getline(std::cin, text); ++number) {
        if (trim(text).empty()) continue;
        try {
            creator.add(parse_job_line(text, call.job));
        } catch (const DbError&) {
            fmt::print(stderr, "create_work: {} jobs were created before line {}\n", creator.created(), number);
            throw;  // no other line would fare better
        } catch (const Error& e) {
            fmt::print(stderr, "create_work: line {}: {}\n", number, e.what());
            if (!call.continue_on_error) {
                fmt::print(stderr, "create_work: {} jobs before it were created, this line and all after it were not\n",
                           creator.created());
                return 1;
            }
            ++wrong;
        }
    }
    creator.flush();
    wrong += creator.refused();
    if (call.verbose || wrong > 0)
        fmt::print(stderr, "create_work: {} jobs created, {} lines wrong\n", creator.created(), wrong);
    return 0;
}

int create(Invocation& call) {
    const fs::path project = call.config_dir.empty() ? find_project_dir() : fs::absolute(call.config_dir);
    refuse_root_in_project_of_another("bin/create_work", project);
    const ProjectConfig config = load_config_and_warn(project);
    Database db(db_settings(config));
    const auto store = make_work_store(db);
    Creator creator(call, project, config, *store);
    for (const auto& name : call.infiles) call.job.files.push_back({name, false, "", "", 0});
    if (call.from_stdin) return create_from_stdin(call, creator);
    if (call.wu_id != 0) {
        if (!call.job.file_group.empty())
            throw ConfigError("--file_group can't change the group of a workunit that is there: leave it out");
        Workunit w = creator.prepare(call.job);
        w.id = call.wu_id;
        JobRows rows = creator.maker().rows_of(call.job, w);
        rows.check_files = creator.maker().file_check(call.job, w);
        if (!store->update(w, rows)) throw ConfigError(fmt::format("there is no workunit {}", call.wu_id));
        return 0;
    }
    const std::string name = creator.add(call.job);
    creator.flush();
    if (call.verbose) fmt::print("created workunit {}\n", name);
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    Invocation call;
    std::int64_t batch = 0;
    CommandLine line("create_work", "make workunits of a project",
                     "Input files must be staged (bin/stage_file). Numbers in the input template win over options.");
    define_options(line, call, batch);
    return tool_main({"create_work"}, [&] {
        log_open({});
        const auto rest = take_remote_files(argc, argv, call.job.files);
        if (const auto status = line.parse(static_cast<int>(rest.size()), rest.data())) return *status;
        call.job.batch = batch;
        if (call.app_name.empty()) return line.fail("--appname is required");
        return create(call);
    });
}
