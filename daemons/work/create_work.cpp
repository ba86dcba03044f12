// create_work: makes workunits (upstream's program of that name, same options). The transitioner makes their results.
//
// One job from the command line, or with --stdin one a line, inserted in bulk and all or nothing per chunk.
#include <fmt/core.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <map>
#include <span>
#include <utility>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/work/job_options.h"
#include "sluice/base/clock.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
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
    std::vector<std::string> infiles, remote_files;
};

class Creator {
  public:
    Creator(const Invocation& call, const fs::path& project, const ProjectConfig& config, WorkStore& store)
        : call_(call),
          project_(project),
          store_(store),
          staging_{config.download_dir, config.download_url, config.uldl_dir_fanout, config.cache_md5_info} {
        const auto app = store_.app_by_name(call.app_name);
        if (!app)
            throw ConfigError("there is no app named '" + call.app_name + "': bin/xadd adds those of project.xml");
        app_ = *app;
        if (call.job.batch > 0 && !store_.batch_exists(call.job.batch))
            fmt::print(
                stderr,
                "create_work: warning: there is no batch {} in the database: its jobs will carry the number, but "
                "belong to no batch that the web pages and the batch daemons know\n",
                call.job.batch);
        if (app_.deprecated)
            fmt::print(stderr,
                       "create_work: warning: app {} is deprecated: its jobs are stored, but not sent until "
                       "app.deprecated is 0 again and reread_db was touched\n",
                       app_.name);
    }

    /// The workunit with XML and checks done; not in the database yet.
    Workunit prepare(const JobOptions& options) {
        JobOptions job = options;
        const bool named = !job.wu_name.empty();
        if (!named) job.wu_name = fmt::format("{}_{}_{:.6f}_{}", app_.name, getpid(), SystemClock().now(), ++counter_);
        if (job.wu_template.empty()) job.wu_template = "templates/" + app_.name + "_in";
        if (job.result_template.empty()) job.result_template = "templates/" + app_.name + "_out";
        Workunit w = to_workunit(job);
        w.appid = app_.id;
        TemplateInput input{job.files, job.command_line, ""};
        if (!job.sub_appname.empty())
            input.additional_xml = "<sub_appname>" + xml_escape(job.sub_appname) + "</sub_appname>\n";
        apply_input_template(
            job.wu_template, template_text(job.wu_template), input,
            [this](const std::string& name) { return find_staged(name, staging_); }, w);
        check_workunit(w);
        warn_of_bound(w);
        check_size_class(w, app_);
        if (w.size_class < 0 && app_.size_classes() > 0) w.size_class = size_class_of(w.rsc_fpops_est, typical_sizes());
        if (!fs::exists(project_ / w.result_template_file))
            throw ConfigError("the result template " + (project_ / w.result_template_file).string() + " is missing");
        w.create_time = SystemClock().now_sec();
        w.transition_time = w.transitioner_flags == TransitionerFlags::kNormal ? w.create_time : kNever;
        if (!named) fmt::print("workunit name: {}\n", w.name);
        return w;
    }

    void add(Workunit w, std::optional<Assignment> a) {
        workunits_.push_back(std::move(w));
        assignments_.push_back(a);
        if (workunits_.size() >= kChunk) flush();
    }
    /// Inserts what was collected, all or nothing. If a name is taken and --continue_on_error was given: one by one.
    void flush() {
        std::vector<Workunit> workunits = std::exchange(workunits_, {});
        const std::vector<std::optional<Assignment>> assignments = std::exchange(assignments_, {});
        if (workunits.empty()) return;
        try {
            store_.insert(workunits, assignments);
            created_ += workunits.size();
        } catch (const DbError& e) {
            if (e.kind() != DbError::Kind::kDuplicate) throw;
            if (!call_.continue_on_error) refuse_taken(workunits, e);
            insert_each(workunits, assignments);
        }
    }
    std::size_t refused() const { return refused_; }  ///< by flush(), because of their names
    std::size_t created() const { return created_; }

  private:
    [[noreturn]] static void refuse_taken(const std::vector<Workunit>& workunits, const DbError& why) {
        if (workunits.size() == 1) throw ConfigError("there is a workunit named '" + workunits[0].name + "' already");
        const std::string text = why.what();
        throw ConfigError(fmt::format("one of {} names is taken ({}); none of these jobs was created", workunits.size(),
                                      text.substr(0, text.find(" ["))));
    }
    void insert_each(std::vector<Workunit>& workunits, const std::vector<std::optional<Assignment>>& assignments) {
        for (std::size_t i = 0; i < workunits.size(); ++i) {
            try {
                store_.insert(std::span(workunits).subspan(i, 1), std::span(assignments).subspan(i, 1));
                ++created_;
            } catch (const DbError& e) {
                if (e.kind() != DbError::Kind::kDuplicate) throw;
                ++refused_;
                fmt::print(stderr, "create_work: there is a workunit named '{}' already\n", workunits[i].name);
            }
        }
    }
    void warn_of_bound(const Workunit& w) {
        if (w.rsc_fpops_bound >= w.rsc_fpops_est || std::exchange(bound_told_, true)) return;
        fmt::print(
            stderr,
            "create_work: warning: rsc_fpops_bound {:g} is below rsc_fpops_est {:g}: clients will abort such jobs; "
            "give --rsc_fpops_bound\n",
            w.rsc_fpops_bound, w.rsc_fpops_est);
    }

    /// Of this app's classes; read once.
    const std::map<int, double>& typical_sizes() {
        if (!typical_sizes_) {
            typical_sizes_ = store_.typical_sizes(app_.id);
            std::erase_if(*typical_sizes_, [&](const auto& c) { return c.first >= app_.size_classes(); });
        }
        return *typical_sizes_;
    }

    const std::string& template_text(const std::string& path) {
        const auto known = templates_.find(path);
        if (known != templates_.end()) return known->second;
        // Relative to the current folder as upstream; to the project where that fails.
        auto text = read_file(path, 1 << 20);
        if (!text) text = read_file(project_ / path, 1 << 20);
        if (!text) throw ConfigError("the input template " + path + " is missing (looked here and in the project)");
        return templates_[path] = *text;
    }

    const Invocation& call_;
    fs::path project_;
    WorkStore& store_;
    StagingSettings staging_;
    App app_;
    std::map<std::string, std::string> templates_;
    std::optional<std::map<int, double>> typical_sizes_;
    std::vector<Workunit> workunits_;
    std::vector<std::optional<Assignment>> assignments_;
    std::size_t created_ = 0, refused_ = 0;
    bool bound_told_ = false;
    int counter_ = 0;
};

void define_options(CommandLine& line, Invocation& c, std::int64_t& batch) {
    JobOptions& j = c.job;
    line.option("--appname", c.app_name, "short name of the app (required)", "NAME");
    line.option("--wu_name", j.wu_name, "name of the workunit; default: made from app, pid and time", "NAME");
    line.option("--wu_template", j.wu_template, "input template; default templates/APP_in", "FILE");
    line.option("--result_template", j.result_template, "output template; default templates/APP_out", "FILE");
    line.option("--batch", batch, "batch of the job");
    line.option("--priority", j.priority, "higher goes first");
    line.option("--credit", j.credit, "credit for the job");
    line.option("--delay_bound", j.delay_bound, "seconds a host may take; default 604800");
    line.option("--hr_class", j.hr_class, "commit to this homogeneous redundancy class");
    line.option("--size_class", j.size_class,
                "size class of the job, for apps that have them; default: that of jobs of its size, else the smallest");
    line.option("--app_version_num", j.app_version_num, "only this version may run it");
    line.option("--keywords", j.keywords, "keyword ids, separated by blanks", "'N N'");
    line.option("--command_line", j.command_line, "passed to the application", "TEXT");
    line.option("--sub_appname", j.sub_appname, "shown by the client", "TEXT");
    line.option("--min_quorum", j.min_quorum, "results that must agree");
    line.option("--target_nresults", j.target_nresults, "results made at first");
    line.option("--max_error_results", j.max_error_results, "give up above this many errors");
    line.option("--max_total_results", j.max_total_results, "give up above this many results");
    line.option("--max_success_results", j.max_success_results, "give up above this many without agreement");
    line.option("--rsc_fpops_est", j.rsc_fpops_est, "operations the job needs; default 3.6e12");
    line.option("--rsc_fpops_bound", j.rsc_fpops_bound, "the client aborts it above this; default 8.64e13");
    line.option("--rsc_memory_bound", j.rsc_memory_bound, "bytes of RAM; default 5e8");
    line.option("--rsc_disk_bound", j.rsc_disk_bound, "bytes of disk; default 1e9");
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

/// --remote_file URL NBYTES MD5 takes three values: taken out before the rest is parsed.
std::vector<const char*> take_remote_files(int argc, const char* const* argv, std::vector<JobFile>& files) {
    std::vector<const char*> rest;
    for (int i = 0; i < argc; ++i) {
        const std::string arg = argv[i];
        if (arg != "--remote_file" && arg != "-remote_file") {
            rest.push_back(argv[i]);
            continue;
        }
        if (i + 3 >= argc) throw ConfigError("--remote_file needs URL NBYTES MD5");
        files.push_back({"", true, argv[i + 1], argv[i + 3], parse_double(argv[i + 2]).value_or(0)});
        i += 3;
    }
    return rest;
}

int create_from_stdin(const Invocation& call, Creator& creator) {
    std::size_t wrong = 0;
    std::string text;
    for (int number = 1; std::getline(std::cin, text); ++number) {
        if (trim(text).empty()) continue;
        try {
            const JobOptions job = parse_job_line(text, call.job);
            creator.add(creator.prepare(job), to_assignment(job));
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
    const ProjectConfig config = load_config_and_warn(project);
    Database db(db_settings(config));
    const auto store = make_work_store(db);
    Creator creator(call, project, config, *store);
    for (const auto& name : call.infiles) call.job.files.push_back({name, false, "", "", 0});
    if (call.from_stdin) return create_from_stdin(call, creator);
    Workunit w = creator.prepare(call.job);
    if (call.wu_id != 0) {
        w.id = call.wu_id;
        if (!store->update(w)) throw ConfigError(fmt::format("there is no workunit {}", call.wu_id));
        return 0;
    }
    const std::string name = w.name;
    creator.add(std::move(w), to_assignment(call.job));
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
