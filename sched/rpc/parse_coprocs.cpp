// SPDX-License-Identifier: LGPL-3.0-or-later
// <coprocs>: one block a vendor, each with its own element names for the same facts, brought into one form. Missing
// speeds and memory sizes are filled in (gpu_speed.h). Of two blocks of a vendor the later one counts, so that no
// device counts twice. A block without devices is ignored.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "sched/rpc/fields.h"
#include "sched/rpc/gpu_speed.h"
#include "sched/rpc/parse_parts.h"
#include "sluice/base/text.h"

namespace sluice::rpc {
namespace {

constexpr double kBytesPerMegabyte = 1024.0 * 1024.0;
/// Upstream believes no more GPUs of a type.
constexpr int kMaxDevices = 64;

/// Every child that any vendor's block may have.
struct Block {
    std::string name, model, type, cal_version;
    int count = 0;
    double req_secs = 0, req_instances = 0, estimated_delay = -1, peak_flops = 0, available_ram = 0;
    std::optional<bool> have_opencl, have_cuda, have_cal;  ///< not said: clients before 7.0
    int cuda_version = 0, driver_version = 0, major = 0, minor = 0;
    double total_global_mem = 0, clock_khz = 0, multiprocessors = 0;
    int target = 0;
    bool atirt = false, amdrt = false, double_precision = false;
    double local_ram_mb = 0, engine_clock = 0, wavefront = 0, simds = 0;
    int metal_support = 0;
    OpenclProps opencl;
    OpenclSpeed opencl_speed;
};

constexpr Field<Block> kBlockFields[] = {
    {"count", &Block::count},
    {"name", &Block::name, kShortText, TooLong::kCut},
    {"model", &Block::model, kShortText, TooLong::kCut},
    {"type", &Block::type, kShortText},
    {"req_secs", &Block::req_secs},
    {"req_instances", &Block::req_instances},
    {"estimated_delay", &Block::estimated_delay},
    {"peak_flops", &Block::peak_flops},
    {"available_ram", &Block::available_ram},
    // NVIDIA
    {"cudaVersion", &Block::cuda_version},
    {"drvVersion", &Block::driver_version},
    {"totalGlobalMem", &Block::total_global_mem},
    {"clockRate", &Block::clock_khz},
    {"major", &Block::major},
    {"minor", &Block::minor},
    {"multiProcessorCount", &Block::multiprocessors},
    // AMD
    {"CALVersion", &Block::cal_version, 49},
    {"target", &Block::target},
    {"localRAM", &Block::local_ram_mb},
    {"engineClock", &Block::engine_clock},
    {"wavefrontSize", &Block::wavefront},
    {"numberOfSIMD", &Block::simds},
    {"doublePrecision", &Block::double_precision},
    {"atirt_detected", &Block::atirt},
    {"amdrt_detected", &Block::amdrt},
    // Apple
    {"metal_support", &Block::metal_support},
};

constexpr struct {
    std::string_view tag;
    std::optional<bool> Block::*member;
} kFlags[] = {{"have_opencl", &Block::have_opencl}, {"have_cuda", &Block::have_cuda}, {"have_cal", &Block::have_cal}};

bool read_flag(XmlReader& xml, Block& block) {
    for (const auto& [tag, member] : kFlags) {
        if (tag != xml.name()) continue;
        block.*member = xml.boolean();
        return true;
    }
    return false;
}

constexpr Field<OpenclProps> kOpenclFields[] = {
    {"name", &OpenclProps::name, kShortText, TooLong::kCut},
    {"vendor", &OpenclProps::vendor, kShortText, TooLong::kCut},
    {"opencl_device_version", &OpenclProps::device_version, kShortText, TooLong::kCut},
    {"opencl_driver_version", &OpenclProps::driver_version, kShortText, TooLong::kCut},
    {"global_mem_size", &OpenclProps::global_mem_size},
    {"double_fp_config", &OpenclProps::double_fp_config},
};
constexpr Field<OpenclSpeed> kOpenclSpeedFields[] = {
    {"max_clock_frequency", &OpenclSpeed::clock_mhz},
    {"max_compute_units", &OpenclSpeed::compute_units},
    {"nv_compute_capability_major", &OpenclSpeed::nv_major},
    {"nv_compute_capability_minor", &OpenclSpeed::nv_minor},
    {"amd_simd_per_compute_unit", &OpenclSpeed::amd_simd_per_unit},
    {"amd_simd_width", &OpenclSpeed::amd_simd_width},
    {"amd_simd_instruction_width", &OpenclSpeed::amd_instruction_width},
};

/// "a.b.c": up to three numbers, each at most `most`.
std::array<int, 3> dotted_numbers(std::string_view text, int most) {
    std::array<int, 3> out{};
    const auto parts = split(text, '.');
    for (std::size_t i = 0; i < std::min<std::size_t>(parts.size(), 3); ++i)
        out[i] = static_cast<int>(std::clamp(std::strtol(std::string(parts[i]).c_str(), nullptr, 10), 0L, long{most}));
    return out;
}

/// "OpenCL 1.2 AMD-APP (923.1) (rev 923.10)": 102 and 92310.
void fill_opencl_versions(OpenclProps& props) {
    constexpr std::string_view kPrefix = "OpenCL ";
    const std::string& text = props.device_version;
    if (const auto at = text.find(kPrefix); at != std::string::npos) {
        const auto numbers = dotted_numbers(std::string_view(text).substr(at + kPrefix.size()), 999);
        props.device_version_int = 100 * numbers[0] + numbers[1];
    }
    if (const auto at = text.find("(rev"); at != std::string::npos) {
        const double revision = std::strtod(text.c_str() + at + 4, nullptr);
        if (std::isfinite(revision) && revision > 0) props.driver_revision = clamp_to_int32(std::round(100 * revision));
    }
}

void fill_common(const Block& block, Coproc& coproc) {
    coproc.count = std::min(block.count, kMaxDevices);
    coproc.req_secs = std::clamp(block.req_secs, 0.0, kMaxRequestSeconds);
    coproc.req_instances = std::clamp(block.req_instances, 0.0, kMaxRequestInstances);
    coproc.estimated_delay = block.estimated_delay;  // < 0: the CPU's, see finish_coprocs()
    coproc.peak_flops = std::max(block.peak_flops, 0.0);
    coproc.opencl = block.opencl;
    coproc.opencl.present = block.opencl.present && block.have_opencl.value_or(true);
    coproc.model = block.name;
}

void set_ram(Coproc& coproc, double available, double total) {
    if (total <= 0) total = std::max(coproc.opencl.global_mem_size, 0.0);
    coproc.total_ram = total;
    coproc.available_ram = available > 0 ? available : total;
}

Coproc nvidia(const Block& block) {
    Coproc c;
    fill_common(block, c);
    c.type = "NVIDIA";
    c.proc_type = ProcType::kNvidia;
    c.have_cuda = block.have_cuda.value_or(block.cuda_version > 0);
    c.cuda_version = block.cuda_version;
    c.driver_version = block.driver_version;
    c.compute_capability = clamp_to_int32(100.0 * block.major + block.minor);
    if (c.peak_flops <= 0)
        c.peak_flops =
            nvidia_peak_flops({block.major, block.minor, block.clock_khz, block.multiprocessors}, block.opencl_speed);
    set_ram(c, block.available_ram, block.total_global_mem);
    return c;
}

Coproc amd(const Block& block) {
    Coproc c;
    fill_common(block, c);
    c.type = "ATI";
    c.proc_type = ProcType::kAmd;
    c.have_cal = block.have_cal.value_or(!block.cal_version.empty());
    const auto version = dotted_numbers(block.cal_version, 9999);
    c.cal_version = clamp_to_int32(1e7 * std::min(version[0], 200) + 1e4 * std::min(version[1], 999) + version[2]);
    c.cal_target = block.target;
    c.atirt_detected = block.atirt;
    c.amdrt_detected = block.amdrt;
    c.double_precision = block.double_precision;
    if (c.peak_flops <= 0)
        c.peak_flops = amd_peak_flops({block.simds, block.wavefront, block.engine_clock}, block.opencl_speed);
    set_ram(c, block.available_ram, block.local_ram_mb * kBytesPerMegabyte);
    return c;
}

Coproc intel(const Block& block) {
    Coproc c;
    fill_common(block, c);
    c.type = "intel_gpu";
    c.proc_type = ProcType::kIntelGpu;
    if (c.model.empty()) c.model = block.opencl.name;
    if (c.peak_flops <= 0) c.peak_flops = intel_peak_flops(block.opencl_speed);
    set_ram(c, block.available_ram, 0);
    return c;
}

Coproc apple(const Block& block) {
    Coproc c;
    fill_common(block, c);
    c.type = "apple_gpu";
    c.proc_type = ProcType::kAppleGpu;
    c.model = block.model;
    c.metal_support = block.metal_support;
    if (c.peak_flops <= 0) c.peak_flops = apple_peak_flops(block.opencl_speed);
    set_ram(c, block.available_ram, 0);
    return c;
}

/// A device that the client or its user named. Its speed stays 0 if it is not known: the reply says so.
Coproc generic(const Block& block) {
    Coproc c;
    fill_common(block, c);
    c.type = block.type;
    if (c.model.empty()) c.model = block.opencl.name;
    set_ram(c, block.available_ram, 0);
    return c;
}

constexpr struct {
    std::string_view tag;
    Coproc (*make)(const Block&);
} kVendors[] = {{"coproc_cuda", nvidia},
                {"coproc_ati", amd},
                {"coproc_intel_gpu", intel},
                {"coproc_apple_gpu", apple},
                {"coproc", generic}};

Block parse_block(XmlReader& xml, std::string_view tag) {
    Block block;
    while (xml.next_child(tag)) {
        if (xml.name() == "coproc_opencl") {
            block.opencl = parse_opencl(xml, block.opencl_speed);
        } else if (!read_field(xml, block, kBlockFields) && !read_flag(xml, block)) {
            xml.skip();  // the device's other properties: no use for a server
        }
    }
    return block;
}

}  // namespace

OpenclProps parse_opencl(XmlReader& xml, OpenclSpeed& speed) {
    const std::string tag(xml.name());
    OpenclProps props;
    props.present = true;
    while (xml.next_child(tag)) {
        if (!read_field(xml, props, kOpenclFields) && !read_field(xml, speed, kOpenclSpeedFields)) xml.skip();
    }
    fill_opencl_versions(props);
    return props;
}

void parse_coprocs(XmlReader& xml, ParseState& state) {
    std::vector<Coproc>& all = state.request.coprocs;
    all.clear();
    while (xml.next_child("coprocs")) {
        const auto* vendor = std::ranges::find(kVendors, xml.name(), [](const auto& v) { return v.tag; });
        if (vendor == std::end(kVendors)) {
            state.unknown(xml);
            continue;
        }
        Coproc coproc = vendor->make(parse_block(xml, vendor->tag));
        if (coproc.count <= 0 || coproc.type.empty()) continue;
        const auto same = std::ranges::find_if(all, [&](const Coproc& c) { return c.type == coproc.type; });
        if (same != all.end()) {
            *same = std::move(coproc);
        } else if (all.size() < state.limits.max_coprocs) {
            all.push_back(std::move(coproc));
        }
    }
}

}  // namespace sluice::rpc
