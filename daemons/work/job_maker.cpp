// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/work/job_maker.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "daemons/work/job_options.h"
#include "sluice/base/clock.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"
#include "sluice/model/size_class.h"
#include "sluice/xml/result_template.h"
#include "sluice/xml/sticky_files.h"

namespace sluice {
namespace {

// Which file's group a job is in: hosts that have the file get the group's jobs (docs/locality.md).

constexpr std::size_t kLongestName = 254;  ///< of a file in a group, in bytes

/// --file_group, checked: throws ConfigError unless it is a sticky input file of a job that locality may choose.
std::string given_file_group(const JobOptions& options, const Workunit& workunit, const App& app) {
    const std::string& file = options.file_group;
    if (app.locality_scheduling != 1)
        throw ConfigError(fmt::format(
            "app {} is not for locality: set its locality_scheduling to 1, or leave out --file_group", app.name));
    if (to_assignment(options))
        throw ConfigError("a job with a target or a broadcast is in no file group: leave out --file_group");
    const std::vector<StickyInput> files = sticky_inputs(workunit.xml_doc);
    if (file.size() > kLongestName || std::ranges::none_of(files, [&](const auto& f) { return f.name == file; }))
        throw ConfigError(
            fmt::format("--file_group {}: the job has no input file of that name whose <file_info> is <sticky/>",
                        in_one_line(file)));
    return file;
}

/// "": the workunit has no sticky input file. Of two of one size the first.
std::string largest_sticky_input(const Workunit& workunit) {
    const std::vector<StickyInput> files = sticky_inputs(workunit.xml_doc);
    const auto largest = std::ranges::max_element(files, {}, &StickyInput::nbytes);
    return largest == files.end() || largest->name.size() > kLongestName ? "" : largest->name;
}

}  // namespace

namespace fs = std::filesystem;

JobMaker::JobMaker(std::string program, const std::string& app_name, const fs::path& project,
                   const ProjectConfig& config, WorkStore& store)
    : program_(std::move(program)),
      project_(project),
      store_(store),
      staging_{config.download_dir, config.download_url, config.uldl_dir_fanout, config.cache_md5_info},
      upload_url_(config.upload_url),
      key_(config.dont_generate_upload_certificates ? fs::path() : fs::path(config.key_dir) / "upload_private"),
      groups_by_app_(config.compat_level > 0) {
    const auto app = store_.app_by_name(app_name);
    if (!app) throw ConfigError("there is no app named '" + app_name + "': bin/xadd adds those of project.xml");
    app_ = *app;
    if (app_.deprecated)
        fmt::print(stderr,
                   "{}: warning: app {} is deprecated: its jobs are stored, but not sent until "
                   "app.deprecated is 0 again and reread_db was touched\n",
                   program_, app_.name);
}

Workunit JobMaker::prepare(const JobOptions& options) {
    JobOptions job = options;
    if (job.wu_name.empty())
        job.wu_name = fmt::format("{}_{}_{:.6f}_{}", app_.name, getpid(), SystemClock().now(), ++counter_);
    if (job.wu_template.empty()) job.wu_template = "templates/" + app_.name + "_in";
    if (job.result_template.empty()) job.result_template = "templates/" + app_.name + "_out";
    Workunit w = to_workunit(job);
    w.appid = app_.id;
    check_given(w);
    TemplateInput input{job.files, job.command_line, ""};
    if (!job.sub_appname.empty())
        input.additional_xml = "<sub_appname>" + xml_escape(job.sub_appname) + "</sub_appname>\n";
    input_template(job.wu_template)
        .apply(
            input, [this](const std::string& name, bool gzip) { return find_staged(name, staging_, gzip); }, w);
    if (const std::string why = store_.xml_too_long(JobDocument::kWorkunit, w.xml_doc.size()); !why.empty())
        throw ConfigError(job.wu_template + ": the workunit's XML: " + why);
    warn_of_ignored(job, w);
    check_workunit(w);
    warn_of_bound(job, w);
    check_size_class(w, app_);
    if (w.size_class < 0 && app_.size_classes() > 0) w.size_class = size_class_of(w.rsc_fpops_est, typical_sizes());
    check_result_template(w.result_template_file, w.name);
    check_pinned(w.app_version_num);
    w.create_time = SystemClock().now_sec();
    w.transition_time = w.transitioner_flags == TransitionerFlags::kNormal ? w.create_time : kNever;
    return w;
}

JobRows JobMaker::rows_of(const JobOptions& options, const Workunit& workunit) const {
    JobRows rows{to_assignment(options), ""};
    if (!options.file_group.empty())
        rows.file_group = given_file_group(options, workunit, app_);
    else if (groups_by_app_ && app_.locality_scheduling == 1 && !rows.assignment)
        rows.file_group = largest_sticky_input(workunit);
    if (!rows.file_group.empty()) rows.check_files = file_check(options, workunit);
    return rows;
}

std::function<void()> JobMaker::file_check(const JobOptions& options, const Workunit& workunit) const {
    std::vector<std::string> names;
    for (const JobFile& file : options.files)
        if (!file.remote && workunit.xml_doc.find("<name>" + xml_escape(file.name) + "</name>") != std::string::npos)
            names.push_back(file.name);
    return [staging = staging_, names = std::move(names)] {
        for (const std::string& name : names) require_staged(name, staging);
    };
}

const PrivateKey* JobMaker::signer() {
    if (!signer_ && !key_.empty()) {
        try {
            signer_ = PrivateKey::read(key_);
        } catch (const Error&) {  // the transitioner needs it, and says so
            key_.clear();
        }
    }
    return signer_ ? &*signer_ : nullptr;
}

void JobMaker::check_result_template(const std::string& path, const std::string& wu_name) {
    auto checked = checked_.find(path);
    if (checked == checked_.end()) {
        auto text = read_file(project_ / path, 1 << 20);
        if (!text) throw ConfigError("the result template " + (project_ / path).string() + " is missing");
        checked = checked_.emplace(path, Checked{*std::move(text), 0}).first;
        if (const int line = line_of_joined_result(checked->second.text); line > 0)
            fmt::print(stderr,
                       "{}: warning: {}:{}: something stands behind <result> on its line: BOINC's own scheduler can't "
                       "send such jobs; begin a new line there\n",
                       program_, path, line);
    }
    auto& [text, longest_name] = checked->second;
    if (wu_name.size() <= longest_name) return;
    // The highest numbers that the transitioner may put into the names of output files.
    const std::string base = output_file_base(wu_name + "_999", std::numeric_limits<std::int32_t>::max());
    const std::string xml = expand_result_template(text, path, base, upload_url_, signer());
    if (const std::string why = store_.xml_too_long(JobDocument::kResult, trim(xml).size()); !why.empty())
        throw ConfigError(path + ": the XML of a result: " + why);
    longest_name = wu_name.size();
}

void JobMaker::check_pinned(int version_num) {
    if (version_num == 0 || pins_checked_.contains(version_num)) return;
    if (const std::string why = store_.why_pinned_job_waits(app_.id, version_num); !why.empty())
        throw ConfigError(fmt::format("app_version_num {}: the job would wait for ever: {}", version_num, why));
    pins_checked_.insert(version_num);
}

void JobMaker::warn_of_ignored(const JobOptions& job, const Workunit& w) {
    const JobOptions unsaid;
    struct Number {
        const char* name;
        double unsaid, given, used;
    };
    for (const Number& n :
         {Number{"rsc_fpops_est", unsaid.rsc_fpops_est, job.rsc_fpops_est, w.rsc_fpops_est},
          Number{"rsc_fpops_bound", unsaid.rsc_fpops_bound, job.rsc_fpops_bound, w.rsc_fpops_bound},
          Number{"rsc_memory_bound", unsaid.rsc_memory_bound, job.rsc_memory_bound, w.rsc_memory_bound},
          Number{"rsc_disk_bound", unsaid.rsc_disk_bound, job.rsc_disk_bound, w.rsc_disk_bound},
          Number{"delay_bound", unsaid.delay_bound, std::trunc(job.delay_bound), double(w.delay_bound)},
          Number{"batch", double(unsaid.batch), double(job.batch), double(w.batch)},
          Number{"size_class", double(unsaid.size_class), double(job.size_class), double(w.size_class)},
          Number{"min_quorum", double(unsaid.min_quorum), double(job.min_quorum), double(w.min_quorum)},
          Number{"target_nresults", double(unsaid.target_nresults), double(job.target_nresults),
                 double(w.target_nresults)},
          Number{"max_error_results", double(unsaid.max_error_results), double(job.max_error_results),
                 double(w.max_error_results)},
          Number{"max_total_results", double(unsaid.max_total_results), double(job.max_total_results),
                 double(w.max_total_results)},
          Number{"max_success_results", double(unsaid.max_success_results), double(job.max_success_results),
                 double(w.max_success_results)}})
        if (n.given != n.unsaid && n.used != n.given && ignored_told_.insert(n.name).second)
            fmt::print(stderr, "{}: warning: --{} {:g} is ignored: the input template {} sets {:g}; change it there\n",
                       program_, n.name, n.given, job.wu_template, n.used);
}

void JobMaker::warn_of_bound(const JobOptions& job, const Workunit& w) {
    if (w.rsc_fpops_bound >= w.rsc_fpops_est || std::exchange(bound_told_, true)) return;
    const bool by_template = w.rsc_fpops_bound != job.rsc_fpops_bound;
    const bool by_option = job.rsc_fpops_bound != JobOptions{}.rsc_fpops_bound;
    const std::string advice = by_template ? "raise it in the input template " + job.wu_template
                               : by_option ? "give a higher --rsc_fpops_bound, or a lower rsc_fpops_est"
                                           : "give --rsc_fpops_bound";
    fmt::print(stderr,
               "{}: warning: rsc_fpops_bound {:g} is below rsc_fpops_est {:g}: clients will abort such jobs; {}\n",
               program_, w.rsc_fpops_bound, w.rsc_fpops_est, advice);
}

const std::map<int, double>& JobMaker::typical_sizes() {
    if (!typical_sizes_) typical_sizes_ = store_.typical_sizes(app_.id);
    return *typical_sizes_;
}

const InputTemplate& JobMaker::input_template(const std::string& path) {
    const auto known = templates_.find(path);
    if (known != templates_.end()) return known->second;
    // Relative to the current folder as upstream; to the project where that fails.
    auto text = read_file(path, 1 << 20);
    if (!text) text = read_file(project_ / path, 1 << 20);
    if (!text) throw ConfigError("the input template " + path + " is missing (looked here and in the project)");
    return templates_.emplace(path, InputTemplate(path, *text)).first->second;
}

void define_job_options(CommandLine& line, JobOptions& job) {
    line.option("--wu_template", job.wu_template, "input template; default templates/APP_in", "FILE");
    line.option("--result_template", job.result_template, "output template; default templates/APP_out", "FILE");
    line.option("--priority", job.priority, "higher goes first");
    line.amount_option("--credit", job.credit, "credit for the job");
    line.option("--delay_bound", job.delay_bound, "seconds a host may take; default 604800");
    line.option("--hr_class", job.hr_class, "commit to this homogeneous redundancy class");
    line.option("--size_class", job.size_class,
                "size class of the job, for apps that have them; default: that of jobs of its size, else the smallest");
    line.option("--app_version_num", job.app_version_num, "only this version may run it");
    line.option(
        "--file_group", job.file_group,
        "sticky input file that decides which hosts get the job (locality); default at compat_level 1, for apps "
        "with locality_scheduling 1: the largest",
        "FILE");
    line.option("--keywords", job.keywords, "keyword ids, separated by blanks", "'N N'");
    line.option("--command_line", job.command_line, "passed to the application", "TEXT");
    line.option("--sub_appname", job.sub_appname, "shown by the client", "TEXT");
    line.option("--min_quorum", job.min_quorum, "results that must agree");
    line.option("--target_nresults", job.target_nresults, "results made at first");
    line.option("--max_error_results", job.max_error_results, "give up above this many errors");
    line.option("--max_total_results", job.max_total_results, "give up above this many results");
    line.option("--max_success_results", job.max_success_results, "give up above this many without agreement");
    line.amount_option("--rsc_fpops_est", job.rsc_fpops_est, "operations the job needs; default 3.6e12");
    line.amount_option("--rsc_fpops_bound", job.rsc_fpops_bound, "the client aborts it above this; default 8.64e13");
    line.amount_option("--rsc_memory_bound", job.rsc_memory_bound, "bytes of RAM; default 5e8");
    line.amount_option("--rsc_disk_bound", job.rsc_disk_bound, "bytes of disk; default 1e9");
}

}  // namespace sluice
