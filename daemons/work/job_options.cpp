// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/work/job_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <variant>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    std::string word;
    bool inside = false;
    char quote = 0;
    for (const char c : line) {
        if (quote != 0) {
            if (c == quote)
                quote = 0;
            else
                word += c;
        } else if (c == '\'' || c == '"') {
            quote = c;
            inside = true;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            if (inside) words.push_back(std::move(word));
            word.clear();
            inside = false;
        } else {
            word += c;
            inside = true;
        }
    }
    if (quote != 0) throw ConfigError("a quote is not closed in: " + line);
    if (inside) words.push_back(std::move(word));
    return words;
}

std::int64_t whole(const std::string& option, const std::string& text) {
    const auto v = parse_int(text);
    if (!v || trim(text).empty()) throw ConfigError(option + " needs a whole number, not '" + text + "'; see --help");
    return *v;
}

double real(const std::string& option, const std::string& text) {
    const auto v = parse_double(text);
    if (!v || trim(text).empty()) throw ConfigError(option + " needs a number, not '" + text + "'; see --help");
    return *v;
}

using OptionField =
    std::variant<std::string JobOptions::*, std::int64_t JobOptions::*, int JobOptions::*, double JobOptions::*>;

const std::map<std::string, OptionField>& line_options() {
    using O = JobOptions;
    static const std::map<std::string, OptionField> options{
        {"--command_line", &O::command_line},       {"--wu_name", &O::wu_name},
        {"--wu_template", &O::wu_template},         {"--result_template", &O::result_template},
        {"--target_host", &O::target_host},         {"--target_user", &O::target_user},
        {"--target_team", &O::target_team},         {"--priority", &O::priority},
        {"--size_class", &O::size_class},           {"--min_quorum", &O::min_quorum},
        {"--target_nresults", &O::target_nresults}, {"--rsc_fpops_est", &O::rsc_fpops_est},
        {"--rsc_fpops_bound", &O::rsc_fpops_bound}, {"--file_group", &O::file_group},
    };
    return options;
}

void set_option_of_line(JobOptions& job, OptionField field, const std::string& option, const std::string& value) {
    if (const auto* text = std::get_if<std::string JobOptions::*>(&field)) {
        std::string& target = job.**text;
        target = option == "--command_line" && !target.empty() ? target + " " + value : value;
    } else if (const auto* number = std::get_if<std::int64_t JobOptions::*>(&field)) {
        job.** number = whole(option, value);
    } else if (const auto* small = std::get_if<int JobOptions::*>(&field)) {
        job.** small = clamp_to_int32(whole(option, value));
    } else {
        job.*std::get<double JobOptions::*>(field) = real(option, value);
    }
}

/// `words`: what follows --remote_file: URL NBYTES MD5, and maybe more.
JobFile remote_file(const std::vector<std::string>& words) {
    if (words.size() < 3) throw ConfigError("--remote_file must be followed by URL NBYTES MD5");
    return {"", true, words[0], words[2], real("--remote_file", words[1])};
}

/// Whole numbers that the workunit's columns hold.
void check_columns(const Workunit& w) {
    struct Column {
        const char* name;
        std::int64_t value, min;
    };
    for (const Column& c : {Column{"priority", w.priority, INT32_MIN}, Column{"delay_bound", w.delay_bound, INT32_MIN},
                            Column{"batch", w.batch, 0}, Column{"hr_class", w.hr_class, 0},
                            Column{"size_class", w.size_class, -1}, Column{"app_version_num", w.app_version_num, 0}})
        if (c.value < c.min || c.value > INT32_MAX)
            throw ConfigError(fmt::format("{} {} is out of range: {} to {}", c.name, c.value, c.min, INT32_MAX));
    // The database would keep 0 for them: no work at all, or a limit that ends every job.
    for (const auto& [name, value] : {std::pair<const char*, double>{"rsc_fpops_est", w.rsc_fpops_est},
                                      {"rsc_fpops_bound", w.rsc_fpops_bound},
                                      {"rsc_memory_bound", w.rsc_memory_bound},
                                      {"rsc_disk_bound", w.rsc_disk_bound},
                                      {"rsc_bandwidth_bound", w.rsc_bandwidth_bound},
                                      {"credit", w.canonical_credit}})
        if (!std::isfinite(value)) throw ConfigError(fmt::format("{} is {:g}: give a number", name, value));
}

}  // namespace

Workunit to_workunit(const JobOptions& o) {
    Workunit w;
    w.name = o.wu_name;
    w.batch = o.batch;
    w.priority = o.priority;
    w.canonical_credit = o.credit;  // upstream's validator reads it there
    w.delay_bound = static_cast<std::int64_t>(o.delay_bound);
    w.hr_class = o.hr_class;
    w.size_class = o.size_class;
    w.app_version_num = o.app_version_num;
    w.keywords = o.keywords;
    w.min_quorum = o.min_quorum;
    w.target_nresults = o.target_nresults;
    w.max_error_results = o.max_error_results;
    w.max_total_results = o.max_total_results;
    w.max_success_results = o.max_success_results;
    w.rsc_fpops_est = o.rsc_fpops_est;
    w.rsc_fpops_bound = o.rsc_fpops_bound;
    w.rsc_memory_bound = o.rsc_memory_bound;
    w.rsc_disk_bound = o.rsc_disk_bound;
    w.result_template_file = o.result_template;
    const auto assignment = to_assignment(o);
    if (assignment)
        w.transitioner_flags = assignment->multi ? TransitionerFlags::kNoTransition : TransitionerFlags::kNoNewResults;
    return w;
}

std::optional<Assignment> to_assignment(const JobOptions& o) {
    std::optional<Assignment> a;
    const auto set = [&](AssignTarget type, Id id, bool multi) {
        if (a) throw ConfigError("a job can have one target or broadcast only");
        a = Assignment{0, id, type, multi, 0, 0};
    };
    if (o.target_host != 0) set(AssignTarget::kHost, o.target_host, false);
    if (o.target_user != 0) set(AssignTarget::kUser, o.target_user, false);
    if (o.target_team != 0) set(AssignTarget::kTeam, o.target_team, false);
    if (o.broadcast) set(AssignTarget::kNone, 0, true);
    if (o.broadcast_user != 0) set(AssignTarget::kUser, o.broadcast_user, true);
    if (o.broadcast_team != 0) set(AssignTarget::kTeam, o.broadcast_team, true);
    return a;
}

void check_given(const Workunit& w) {
    check_columns(w);
    for (const auto& [name, value] : {std::pair<const char*, double>{"rsc_fpops_est", w.rsc_fpops_est},
                                      {"rsc_fpops_bound", w.rsc_fpops_bound},
                                      {"rsc_memory_bound", w.rsc_memory_bound},
                                      {"rsc_disk_bound", w.rsc_disk_bound},
                                      {"credit", w.canonical_credit},
                                      {"delay_bound", static_cast<double>(w.delay_bound)},
                                      {"min_quorum", w.min_quorum},
                                      {"target_nresults", w.target_nresults},
                                      {"max_error_results", w.max_error_results},
                                      {"max_total_results", w.max_total_results},
                                      {"max_success_results", w.max_success_results}})
        if (value < 0) throw ConfigError(fmt::format("{} can't be negative: {:g}", name, value));
}

void check_workunit(Workunit& w) {
    const auto need = [](bool good, const char* what) {
        if (!good) throw ConfigError(what);
    };
    check_columns(w);
    need(w.rsc_fpops_est > 0, "rsc_fpops_est must be above 0: give --rsc_fpops_est or set it in the template");
    need(w.rsc_fpops_bound > 0, "rsc_fpops_bound must be above 0");
    need(w.rsc_memory_bound >= 0 && w.rsc_bandwidth_bound >= 0,
         "rsc_memory_bound and rsc_bandwidth_bound can't be negative");
    need(w.rsc_disk_bound > 0, "rsc_disk_bound must be above 0");
    need(w.canonical_credit >= 0, "credit can't be negative");
    need(w.delay_bound > 0, "delay_bound must be above 0");
    need(w.min_quorum > 0 && w.target_nresults > 0, "min_quorum and target_nresults must be above 0");
    need(w.max_error_results > 0, "max_error_results must be above 0");
    // Upstream stores a quorum that its target can never reach; then nothing would ever be validated.
    w.target_nresults = std::max(w.target_nresults, w.min_quorum);
    w.max_success_results = std::max(w.max_success_results, w.target_nresults);
    w.max_total_results = std::max({w.max_total_results, w.max_success_results, w.target_nresults});
    need(w.max_error_results <= w.max_total_results || w.max_total_results <= w.target_nresults,
         "max_error_results is above max_total_results");
    need(!w.name.starts_with('-'), "the workunit's name begins with '-': programs would take it for an option");
    need(w.name.size() <= 180 && !w.name.empty(), "the workunit's name must have 1 to 180 characters");
    need(
        is_valid_file_name(w.name) && w.name.find_first_of("<>&/\\ '\"") == std::string::npos,
        "the workunit's name has a character (or '..') that file names and XML can't carry: use letters, digits, . - _");
    need(w.keywords.find_first_not_of("0123456789 ,\t") == std::string::npos, "--keywords takes numbers and blanks");
    need(w.result_template_file.size() <= 63, "the path of the result template is over 63 characters");
}

void check_size_class(const Workunit& wu, const App& app) {
    if (wu.size_class < 0) return;
    if (app.size_classes() == 0)
        throw ConfigError(fmt::format(
            "app {} has no size classes, and nobody would release a job of size_class {}: leave it out, or set "
            "n_size_classes of the app",
            app.name, wu.size_class));
    if (wu.size_class >= app.size_classes())
        throw ConfigError(fmt::format("size_class {} of app {} does not exist: it has {} (0 to {})", wu.size_class,
                                      app.name, app.size_classes(), app.size_classes() - 1));
}

std::string job_line_options() {
    std::string text;
    for (const auto& [name, field] : line_options()) text += name + " ";
    return text + "--remote_file, and input files";
}

JobOptions parse_job_line(const std::string& line, const JobOptions& defaults) {
    JobOptions job = defaults;
    job.wu_name.clear();
    const auto words = words_of(line);
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string name = words[i];
        if (name.size() > 2 && name[0] == '-' && name[1] != '-') name.insert(0, "-");
        if (name == "--remote_file") {
            job.files.push_back(remote_file({words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end()}));
            i += 3;
        } else if (const auto it = line_options().find(name); it != line_options().end()) {
            if (i + 1 >= words.size()) throw ConfigError(name + " needs a value");
            set_option_of_line(job, it->second, name, words[++i]);
        } else if (name.starts_with("--")) {
            throw ConfigError("option " + words[i] + " can't stand in a job's line (these can: " + job_line_options() +
                              ")");
        } else {
            job.files.push_back({words[i], false, "", "", 0});
        }
    }
    return job;
}

std::vector<const char*> take_remote_files(int argc, const char* const* argv, std::vector<JobFile>& files) {
    std::vector<const char*> rest;
    for (int i = 0; i < argc; ++i) {
        const std::string arg = argv[i];
        if (arg != "--remote_file" && arg != "-remote_file") {
            rest.push_back(argv[i]);
            continue;
        }
        files.push_back(remote_file({argv + i + 1, argv + argc}));
        i += 3;
    }
    return rest;
}

}  // namespace sluice
