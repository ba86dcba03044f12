// SPDX-License-Identifier: LGPL-3.0-or-later
// plan_class_spec.xml: one table row per tag. A class with a bad value is refused alone, with a line that names file,
// class and tag. Upstream refuses every class of the project, and tells the admin nothing.
#include <regex.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "sched/match/plan_class_spec.h"
#include "sluice/base/error.h"
#include "sluice/base/text.h"
#include "sluice/xml/reader.h"

namespace sluice {

PosixRegex::PosixRegex(const std::string& pattern) {
    auto compiled = std::make_unique<regex_t>();
    if (const int code = regcomp(compiled.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB); code != 0) {
        char why[200];
        regerror(code, compiled.get(), why, sizeof why);
        throw ConfigError("bad regular expression \"" + in_one_line(pattern) +
                          "\": must be a POSIX extended one: " + why);
    }
    compiled_ = std::shared_ptr<const void>(compiled.release(), [](const void* p) {
        auto* regex = const_cast<regex_t*>(static_cast<const regex_t*>(p));
        regfree(regex);
        delete regex;
    });
}

bool PosixRegex::matches(const std::string& text) const {
    return regexec(static_cast<const regex_t*>(compiled_.get()), text.c_str(), 0, nullptr, 0) == 0;
}

namespace {

using S = PlanClassSpec;
using W = match::JobWindow;
using SpecField = std::variant<bool S::*, std::int64_t S::*, double S::*, std::string S::*, PosixRegex S::*,
                               std::int64_t W::*, std::vector<std::string> S::*, std::vector<std::int64_t> S::*>;
struct Tag {
    const char* name;
    SpecField field;
};

const Tag kTags[] = {
    {"name", &S::name},
    {"infeasible_random", &S::infeasible_random},
    {"user_id", &S::user_id},
    {"min_wu_id", &W::min_wu_id},
    {"max_wu_id", &W::max_wu_id},
    {"min_batch", &W::min_batch},
    {"max_batch", &W::max_batch},
    {"cpu_feature", &S::cpu_features},
    {"min_ncpus", &S::min_ncpus},
    {"os_regex", &S::os_regex},
    {"cpu_vendor_regex", &S::cpu_vendor_regex},
    {"cpu_model_regex", &S::cpu_model_regex},
    {"min_os_version", &S::min_os_version},
    {"max_os_version", &S::max_os_version},
    {"min_android_version", &S::min_android_version},
    {"max_android_version", &S::max_android_version},
    {"min_libc_version", &S::min_libc_version},
    {"min_core_client_version", &S::min_core_client_version},
    {"max_core_client_version", &S::max_core_client_version},
    {"virtualbox", &S::virtualbox},
    {"vm_accel_required", &S::vm_accel_required},
    {"is64bit", &S::is64bit},
    {"min_vbox_version", &S::min_vbox_version},
    {"max_vbox_version", &S::max_vbox_version},
    {"exclude_vbox_version", &S::exclude_vbox_version},
    {"wsl", &S::wsl},
    {"docker", &S::docker},
    {"min_boinc_wsl_distro_version", &S::min_boinc_wsl_distro_version},
    {"project_prefs_tag", &S::project_prefs_tag},
    {"project_prefs_regex", &S::project_prefs_regex},
    {"project_prefs_default_true", &S::project_prefs_default_true},
    {"gpu_utilization_tag", &S::gpu_utilization_tag},
    {"gpu_type", &S::gpu_type},
    {"gpu_type_regex", &S::gpu_type_regex},
    {"min_gpu_ram_mb", &S::min_gpu_ram_mb},
    {"gpu_ram_used_mb", &S::gpu_ram_used_mb},
    {"min_gpu_peak_flops", &S::min_gpu_peak_flops},
    {"max_gpu_peak_flops", &S::max_gpu_peak_flops},
    {"min_driver_version", &S::min_driver_version},
    {"max_driver_version", &S::max_driver_version},
    {"need_ati_libs", &S::need_ati_libs},
    {"need_amd_libs", &S::need_amd_libs},
    {"without_opencl", &S::without_opencl},
    {"cal", &S::cal},
    {"min_cal_target", &S::min_cal_target},
    {"max_cal_target", &S::max_cal_target},
    {"cuda", &S::cuda},
    {"min_cuda_version", &S::min_cuda_version},
    {"max_cuda_version", &S::max_cuda_version},
    {"min_nvidia_compcap", &S::min_nvidia_compcap},
    {"max_nvidia_compcap", &S::max_nvidia_compcap},
    {"opencl", &S::opencl},
    {"min_opencl_version", &S::min_opencl_version},
    {"max_opencl_version", &S::max_opencl_version},
    {"min_opencl_driver_revision", &S::min_opencl_driver_revision},
    {"max_opencl_driver_revision", &S::max_opencl_driver_revision},
    {"double_precision_fp", &S::double_precision_fp},
    {"min_metal_support", &S::min_metal_support},
    {"ngpus", &S::ngpus},
    {"cpu_frac", &S::cpu_frac},
    {"avg_ncpus", &S::avg_ncpus},
    {"gpu_peak_flops_scale", &S::gpu_peak_flops_scale},
    {"projected_flops_scale", &S::projected_flops_scale},
    {"max_threads", &S::max_threads},
    {"nthreads_cmdline", &S::nthreads_cmdline},
    {"mem_usage_base_mb", &S::mem_usage_base_mb},
    {"mem_usage_per_cpu_mb", &S::mem_usage_per_cpu_mb},
};

template <class T>
T value_or_throw(std::optional<T> value, const char* what) {
    if (!value) throw ConfigError(std::string("must be ") + what);
    return *value;
}

double finite_number(XmlReader& xml) {
    const double v = value_or_throw(xml.number(), "a number");
    if (!std::isfinite(v)) throw ConfigError("must be a finite number");
    return v;
}

struct Setter {
    PlanClassSpec& spec;
    XmlReader& xml;

    std::string text() const { return value_or_throw(xml.text(4000), "text of at most 4000 bytes"); }
    std::int64_t integer() const { return value_or_throw(xml.integer(), "a whole number"); }

    void operator()(bool S::*f) const { spec.*f = value_or_throw(xml.boolean(), "0 or 1"); }
    void operator()(std::int64_t S::*f) const { spec.*f = integer(); }
    void operator()(std::int64_t W::*f) const { spec.window.*f = integer(); }
    void operator()(double S::*f) const { spec.*f = finite_number(xml); }
    void operator()(std::string S::*f) const { spec.*f = text(); }
    void operator()(PosixRegex S::*f) const { spec.*f = PosixRegex(text()); }
    void operator()(std::vector<std::string> S::*f) const { (spec.*f).push_back(to_lower_ascii(text())); }
    void operator()(std::vector<std::int64_t> S::*f) const { (spec.*f).push_back(integer()); }
};

void require(bool good, const char* tag, const char* rule) {
    if (!good) throw ConfigError(std::string("<") + tag + "> must be " + rule);
}

// Values that would give jobs no processor, negative time or no end.
void check_ranges(const PlanClassSpec& s) {
    require(!s.name.empty(), "name", "there");
    require(s.infeasible_random >= 0 && s.infeasible_random <= 1, "infeasible_random", "between 0 and 1");
    require(s.max_threads >= 1, "max_threads", "at least 1");
    require(s.cpu_frac > 0 && s.cpu_frac < 1, "cpu_frac", "above 0 and below 1");
    require(s.avg_ncpus >= 0, "avg_ncpus", "at least 0");
    require(s.projected_flops_scale > 0, "projected_flops_scale", "above 0");
    require(s.gpu_peak_flops_scale > 0, "gpu_peak_flops_scale", "above 0");
    require(s.mem_usage_per_cpu_mb >= 0, "mem_usage_per_cpu_mb", "at least 0");
    require(s.ngpus >= 0 || s.min_gpu_ram_mb > 0 || s.gpu_ram_used_mb > 0, "gpu_ram_used_mb",
            "given when <ngpus> is negative");
}

void read_class(XmlReader& xml, PlanClassSpec& spec, std::string& bad, std::vector<std::string>& unknown) {
    const auto note = [&](const std::string& what) {
        if (bad.empty()) bad = what;
    };
    while (xml.next_child("plan_class")) {
        const std::string tag(xml.name());
        const auto row = std::find_if(std::begin(kTags), std::end(kTags), [&](const Tag& t) { return tag == t.name; });
        if (row == std::end(kTags)) {
            unknown.push_back(tag);
            xml.skip();
            continue;
        }
        try {
            std::visit(Setter{spec, xml}, row->field);
        } catch (const ConfigError& e) {
            note("<" + tag + ">: " + e.what());
        }
    }
    try {
        check_ranges(spec);
    } catch (const ConfigError& e) {
        note(e.what());
    }
}

/// The GPUs that clients know under a name that the class's regular expression allows.
std::array<bool, kProcTypes> matched_types(const PosixRegex& regex) {
    static constexpr std::pair<const char*, ProcType> kNames[] = {
        {"NVIDIA", ProcType::kNvidia},  {"nvidia", ProcType::kNvidia},
        {"CUDA", ProcType::kNvidia},    {"ATI", ProcType::kAmd},
        {"ati", ProcType::kAmd},        {"AMD", ProcType::kAmd},
        {"amd", ProcType::kAmd},        {"intel_gpu", ProcType::kIntelGpu},
        {"INTEL", ProcType::kIntelGpu}, {"apple_gpu", ProcType::kAppleGpu},
        {"APPLE", ProcType::kAppleGpu}};
    std::array<bool, kProcTypes> types{};
    for (const auto& [name, type] : kNames)
        if (regex.matches(name)) types[static_cast<std::size_t>(type)] = true;
    return types;
}

}  // namespace

std::vector<std::unique_ptr<PlanClassSpec>> parse_plan_classes(std::string_view text, const std::string& file,
                                                               std::vector<std::string>& problems) {
    std::vector<std::unique_ptr<PlanClassSpec>> specs;
    XmlReader xml(text);
    bool found_root = false;
    for (XmlReader::Kind kind = xml.next(); kind != XmlReader::Kind::kEof; kind = xml.next()) {
        if (kind != XmlReader::Kind::kStart) continue;
        if (xml.name() == "plan_classes") found_root = true;
        if (xml.name() != "plan_class") continue;
        auto spec = std::make_unique<PlanClassSpec>();
        std::string bad;
        std::vector<std::string> unknown;
        read_class(xml, *spec, bad, unknown);
        const std::string where = file + ": plan class \"" + in_one_line(spec->name) + "\": ";
        for (const std::string& tag : unknown)
            problems.push_back(where + "unknown tag <" + in_one_line(tag) + ">, ignored");
        if (spec->gpu_type_regex.given()) spec->gpu_regex_types = matched_types(spec->gpu_type_regex);
        if (bad.empty())
            specs.push_back(std::move(spec));
        else
            problems.push_back(where + bad + "; versions of this class are not sent until it is corrected");
    }
    if (!found_root) problems.push_back(file + ": no <plan_classes> element; versions with a plan class are not sent");
    return specs;
}

}  // namespace sluice
