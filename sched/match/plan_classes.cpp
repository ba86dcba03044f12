// SPDX-License-Identifier: LGPL-3.0-or-later
// The built-in classes of upstream, written in the terms of plan_class_spec.xml, and where classes come from.
#include "sluice/match/plan_classes.h"

#include <fmt/format.h>

#include <algorithm>

#include "sched/match/plan_class_spec.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"
#include "sluice/match/cpu_use.h"

namespace sluice {
namespace {

bool starts(std::string_view s, std::string_view with) { return s.substr(0, with.size()) == with; }
bool includes(std::string_view s, std::string_view part) { return s.find(part) != std::string_view::npos; }

PlanClassSpec gpu(const char* type, double ram_mb, double cpu_frac, double scale) {
    PlanClassSpec s;
    s.gpu_type = type;
    s.min_gpu_ram_mb = ram_mb;
    s.cpu_frac = cpu_frac;
    s.gpu_peak_flops_scale = scale;
    return s;
}

PlanClassSpec cuda(std::int64_t min_cap, std::int64_t max_cap, std::int64_t version, std::int64_t driver) {
    PlanClassSpec s = gpu("nvidia", driver == 17700 ? 256 : 384, .01, .2);
    s.cuda = true;
    s.min_nvidia_compcap = min_cap;
    s.max_nvidia_compcap = max_cap;
    s.min_cuda_version = version;
    s.min_driver_version = driver;
    return s;
}

PlanClassSpec ati(std::int64_t cal_version, bool amd_libs, double scale) {
    PlanClassSpec s = gpu("ati", 256, .01, scale);
    s.min_driver_version = cal_version;
    s.need_amd_libs = amd_libs;
    s.need_ati_libs = !amd_libs;
    return s;
}

// opencl_TYPE_VERSION: upstream's AMD class can't be reached by its name there; level 1 takes both spellings.
bool opencl(std::string_view name, int level, PlanClassSpec& s) {
    if (starts(name, "opencl_nvidia"))
        s = gpu("nvidia", 256, .01, .14);
    else if (starts(name, "opencl_intel_gpu"))
        s = gpu("intel_gpu", 256, .1, .2);
    else if (starts(name, "opencl_apple_gpu"))
        s = gpu("apple_gpu", 256, .1, .2);
    else if (level > 0 && (starts(name, "opencl_ati") || starts(name, "opencl_amd")))
        s = gpu("ati", 256, .01, .14);
    else
        return false;
    s.opencl = true;
    const auto digits = name.find_last_not_of("0123456789") + 1;
    s.min_opencl_version = digits < name.size() ? parse_int(name.substr(digits)).value_or(0) : 0;
    return true;
}

void multithread(PlanClassSpec& s, std::int64_t threads) {
    s.max_threads = threads;
    s.nthreads_cmdline = true;
    s.projected_flops_scale = .99;  // a sequential version wins on a single CPU
}

bool cpu_class(std::string_view name, PlanClassSpec& s) {
    if (name == "mt") {
        s.min_ncpus = 2;
        multithread(s, 64);
    } else if (includes(name, "opencl_cpu_intel")) {
        s.opencl = true;
        s.opencl_cpu_vendor = "intel";
        s.min_ncpus = 2;
        multithread(s, 64);
    } else if (name == "nci") {
        s.is_free = true;
    } else if (name == "sse3") {
        s.cpu_features = {"pni"};
        s.projected_flops_scale = 1.1;
    } else {
        return false;
    }
    return true;
}

void vbox(std::string_view name, PlanClassSpec& s) {
    s.virtualbox = true;
    s.min_vbox_version = 30200;
    s.is64bit = includes(name, "64");
    s.vm_accel_required = s.is64bit || includes(name, "hwaccel");
    if (includes(name, "mt")) multithread(s, 4096);
}

}  // namespace

std::unique_ptr<PlanClassSpec> built_in_plan_class(std::string_view name, int level) {
    PlanClassSpec s;
    // The cards of today: upstream's built-in cuda and cuda23 end below compute capability 2.0.
    const std::int64_t newest = level > 0 ? 0 : 199;
    if (cpu_class(name, s)) {
    } else if (starts(name, "opencl")) {
        if (!opencl(name, level, s)) return nullptr;
    } else if (name == "ati")
        s = ati(10000000, true, .20);
    else if (name == "ati13amd")
        s = ati(10030000, true, .21);
    else if (name == "ati13ati")
        s = ati(10030186, false, .22);
    else if (name == "ati14")
        s = ati(10040000, false, .23);
    else if (name == "cuda")
        s = cuda(100, newest, 0, 17700);
    else if (name == "cuda23")
        (s = cuda(100, newest, 2030, 19038)).gpu_peak_flops_scale = .21;
    else if (name == "cuda_fermi")
        (s = cuda(200, 0, 3000, 19500)).gpu_peak_flops_scale = .22;
    else if (includes(name, "vbox"))
        vbox(name, s);
    else if (includes(name, "wsl") && level > 0)
        s.wsl = true;  // upstream accepts it with speed 0, so it is never chosen
    else
        return nullptr;
    s.name = name;
    s.built_in = true;
    return std::make_unique<PlanClassSpec>(std::move(s));
}

PlanClasses::PlanClasses() = default;
PlanClasses::PlanClasses(PlanClasses&&) noexcept = default;
PlanClasses& PlanClasses::operator=(PlanClasses&&) noexcept = default;
PlanClasses::~PlanClasses() = default;

PlanClasses PlanClasses::from_spec(std::string_view xml, const std::string& file) {
    PlanClasses classes;
    classes.built_in_ = false;
    classes.specs_ = parse_plan_classes(xml, file, classes.problems_);
    return classes;
}

const PlanClassSpec* PlanClasses::find(std::string_view name, int compat_level) const {
    const auto& where = built_in_ ? known_[compat_level > 0] : specs_;
    for (const auto& spec : where)
        if (spec->name == name) return spec.get();
    if (!built_in_) return nullptr;
    auto spec = built_in_plan_class(name, compat_level);
    if (!spec) return nullptr;
    return known_[compat_level > 0].emplace_back(std::move(spec)).get();
}

std::array<bool, kProcTypes> PlanClasses::resources(const std::string& name, int compat_level) const {
    const PlanClassSpec* spec = compat_level > 0 ? find(name, compat_level) : nullptr;
    if (spec != nullptr) return match::declared_types(*spec, compat_level);
    std::array<bool, kProcTypes> types{};
    types[static_cast<std::size_t>(proc_type_of_plan_class(name.c_str()))] = true;
    return types;
}

ProcType PlanClasses::resource(const std::string& name, int compat_level) const {
    const auto types = resources(name, compat_level);
    return static_cast<ProcType>(std::ranges::find(types, true) - types.begin());
}

CpuUse cpu_use(const PlanClassSpec& s) {
    if (s.is_free) return {.fixed = .01, .projected = 101};
    return {s.avg_ncpus, static_cast<double>(s.max_threads), s.min_ncpus, s.projected_flops_scale};
}

CpuUse cpu_use(const PlanClasses& classes, const std::string& name, int compat_level) {
    const PlanClassSpec* s = classes.find(name, compat_level);
    return s == nullptr ? CpuUse{} : cpu_use(*s);
}

GpuUse PlanClasses::gpu_use(const std::string& name, int compat_level) const {
    const PlanClassSpec* s = find(name, compat_level);
    if (s == nullptr) return {};
    GpuUse use;
    use.devices = s->ngpus > 0 ? s->ngpus : 1;
    // As match::gpu_usage() has it, of a GPU that nobody has measured.
    const double gpu = s->gpu_peak_flops_scale * use.devices * kGpuPerCpu;
    const double mix = s->cpu_frac * gpu + 1 - s->cpu_frac;
    use.cpus = s->avg_ncpus > 0 ? s->avg_ncpus : mix > 0 ? s->cpu_frac * gpu / mix : 0;
    use.peak_scale = s->built_in ? 1 : s->gpu_peak_flops_scale;
    use.projected = use.devices * s->gpu_peak_flops_scale * s->projected_flops_scale;
    return use;
}

std::string PlanClasses::name_problem(const std::string& name, int compat_level) const {
    const PlanClassSpec* spec = find(name, compat_level);
    if (spec == nullptr) return "";
    const ProcType type = match::declared_type(*spec, 1), by_name = proc_type_of_plan_class(name.c_str());
    if (type == ProcType::kCpu && !spec->gpu_type.empty())
        return fmt::format(
            "plan class '{}': <gpu_type>{}</gpu_type> is none of nvidia, amd, ati, intel_gpu and apple_gpu, so its "
            "versions are for hosts that report a coprocessor of exactly this name",
            name, spec->gpu_type);
    if (compat_level > 0) return "";
    if (type != match::declared_type(*spec, 0))
        return fmt::format(
            "plan class '{}' is for the {}, but at compat_level 0 only a <gpu_type> of nvidia, amd, ati, intel_gpu or "
            "apple_gpu says so (as upstream): write it like that, or put <compat_level>1</compat_level> into config.xml",
            name, proc_type_user_name(type));
    if (type == by_name) return "";
    return fmt::format(
        "plan class '{}' is for the {}, but its name says {}: at compat_level 0 its versions may never be sent "
        "(as upstream). Rename the class: its name holds cuda, nvidia, ati, amd, intel_gpu or apple_gpu if it is for such a "
        "GPU, and none of them otherwise. Or put <compat_level>1</compat_level> into config.xml",
        name, proc_type_user_name(type), proc_type_user_name(by_name));
}

std::vector<std::string> PlanClasses::name_problems(int compat_level) const {
    std::vector<std::string> problems;
    for (const auto& spec : specs_)
        if (const std::string problem = name_problem(spec->name, compat_level); !problem.empty())
            problems.push_back(problem);
    return problems;
}

std::string PlanClasses::what_there_is(int compat_level) const {
    std::string names;
    const auto add = [&](std::string_view name) { names.append(names.empty() ? "" : ", ").append(name); };
    for (const auto& spec : specs_) add(spec->name);
    if (!built_in_) return "plan_class_spec.xml has " + (names.empty() ? "none" : names);
    for (const char* name :
         {"mt", "nci", "sse3", "cuda", "cuda23", "cuda_fermi", "ati", "ati13amd", "ati13ati", "ati14", "opencl_nvidia",
          "opencl_ati", "opencl_intel_gpu", "opencl_apple_gpu", "opencl_cpu_intel", "vbox32", "vbox64", "wsl"})
        if (built_in_plan_class(name, compat_level)) add(name);
    return "built in are " + names + ", and some that go on from these, as opencl_nvidia_102 and vbox64_mt";
}

PlanClasses load_plan_classes(const std::filesystem::path& project) {
    const auto file = project / "plan_class_spec.xml";
    const auto text = read_file(file);
    return text ? PlanClasses::from_spec(*text, file.string()) : PlanClasses();
}

}  // namespace sluice
