// SPDX-License-Identifier: LGPL-3.0-or-later
// sample_work_generator: keeps ten jobs of the example app in stock. Upstream's program of that name, same options.
#include <fmt/core.h>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/work/job_maker.h"
#include "daemons/work/job_supply.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

constexpr std::int64_t kStock = 10;

struct SampleWords {
    std::string app = "example_app", in_template = "example_app_in", out_template = "example_app_out";
};

/// As upstream's jobs.
JobOptions sample_job(const SampleWords& words, const std::string& name) {
    JobOptions job;
    job.wu_name = name;
    job.wu_template = "templates/" + words.in_template, job.result_template = "templates/" + words.out_template;
    job.files = {{name, false, "", "", 0}};
    job.rsc_fpops_est = 1e12, job.rsc_fpops_bound = 1e14, job.rsc_memory_bound = 1e8, job.rsc_disk_bound = 1e8;
    job.delay_bound = 86400;
    job.min_quorum = 1, job.target_nresults = 1;
    job.max_error_results = 4, job.max_total_results = 8, job.max_success_results = 4;
    return job;
}

class SampleMaker {
  public:
    SampleMaker(const SampleWords& words, const ProjectConfig& config, JobMaker& maker, WorkStore& store,
                std::int64_t start)
        : words_(words), config_(config), maker_(maker), store_(store), start_(start) {}

    Id make(std::int64_t results, std::int64_t most) {
        Id last = 0;
        for (std::int64_t i = 0; i < std::min(results, most); ++i) last = make_one();
        log_normal("{} workunits made", std::min(results, most));
        return last;
    }

  private:
    Id make_one() {
        const std::string name = fmt::format("{}_{}_{}", words_.app, start_, sequence_++);
        const fs::path file = fanout_path(config_.download_dir, name, config_.uldl_dir_fanout);
        make_hash_folder(file, config_.download_dir);
        write_file_atomically(file, "This is the input file for job " + name, 0644);
        const JobOptions job = sample_job(words_, name);
        Workunit workunit = maker_.prepare(job);
        const JobRows rows = maker_.rows_of(job, workunit);
        store_.insert({&workunit, 1}, {&rows, 1});
        return workunit.id;
    }

    const SampleWords& words_;
    const ProjectConfig& config_;
    JobMaker& maker_;
    WorkStore& store_;
    std::int64_t start_;
    int sequence_ = 0;
};

void define_sample_options(CommandLine& line, SampleWords& w) {
    line.option("--app", w.app, "the app; default example_app", "NAME");
    line.option("--in_template_file", w.in_template, "input template in templates/; default example_app_in", "FILE");
    line.option("--out_template_file", w.out_template, "output template in templates/; default example_app_out",
                "FILE");
    line.section("EXIT STATUS", "0: stopped, or the pass is done. 1: no such app or template, or an error.");
}

std::string problem_of_samples(const SampleWords& w) {
    for (const std::string& name : {w.app, w.in_template, w.out_template})
        if (!is_valid_file_name(name)) return "names of apps and templates are names of files";
    return "";
}

int run_samples(const SampleWords& words, DaemonStart& start) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    DbSettings settings = db_settings(config);
    settings.read_only = start.dry_run;
    Database db(settings);
    const auto work = make_work_store(db);
    const auto supply = make_supply_store(db);
    JobMaker maker("sample_work_generator", words.app, start.settings.project, config, *work);
    SampleMaker sample(words, config, maker, *work, unused_start(*supply, words.app + "_", start.env.clock.now_sec()));
    const StockRule rule{.appid = maker.app().id,
                         .low = kStock - 1,
                         .fill = kStock,
                         .dry_run = start.dry_run,
                         .interval = start.settings.sleep_interval};
    JobSupply service(rule, *supply,
                      [&](std::int64_t results, std::int64_t most) { return sample.make(results, most); });
    return start.run(service);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    SampleWords words;
    const DaemonProgram program{
        .summary = "keep ten jobs of an app in stock",
        .description =
            "For tests of a new project, and a pattern for work generators of its own. Each job has one input file "
            "with a line of text, as the example app takes it.",
        .settings = {.name = "sample_work_generator", .sleep_interval = 10},
        .has_dry_run = true,
        .options = [&](CommandLine& line) { define_sample_options(line, words); },
        .check = [&](DaemonStart&) { return problem_of_samples(words); },
        .run = [&](DaemonStart& start) { return run_samples(words, start); }};
    return daemon_main(program, argc, argv);
}
