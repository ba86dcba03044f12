// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/rpc/gpu_speed.h"

#include <algorithm>
#include <iterator>

namespace sluice::rpc {
namespace {

/// What a device is taken for whose speed can't be computed at all.
constexpr double kUnknownGpu = 5e10, kUnknownIntel = 4.5e10, kUnknownApple = 1e11;

/// Cores per multiprocessor and flops per core and clock, by compute capability: the first row that is not above it.
struct Generation {
    int major, minor;
    double cores, flops_per_clock;
};
constexpr Generation kGenerations[] = {{9, 0, 128, 2}, {8, 1, 128, 2}, {8, 0, 64, 2},  {7, 0, 64, 2},
                                       {6, 1, 128, 2}, {6, 0, 64, 2},  {5, 0, 128, 2}, {3, 0, 192, 2},
                                       {2, 1, 48, 2},  {2, 0, 32, 2},  {0, 0, 8, 3}};

const Generation& generation(int major, int minor) {
    for (const Generation& g : kGenerations) {
        if (major > g.major || (major == g.major && minor >= g.minor)) return g;
    }
    return *std::prev(std::end(kGenerations));
}

double positive_or(double value, double fallback) { return value > 0 && value < 1e18 ? value : fallback; }

double units_times_clock(const OpenclSpeed& o, double per_unit_and_clock) {
    if (o.compute_units <= 0 || o.clock_mhz <= 0) return 0;
    return 1e6 * o.compute_units * per_unit_and_clock * o.clock_mhz;
}

}  // namespace

double nvidia_peak_flops(const NvidiaSpeed& gpu, const OpenclSpeed& opencl) {
    if (gpu.clock_khz > 0 && gpu.multiprocessors > 0) {
        const Generation& g = generation(gpu.major, gpu.minor);
        return positive_or(1000 * gpu.clock_khz * gpu.multiprocessors * g.cores * g.flops_per_clock, kUnknownGpu);
    }
    const Generation& g = generation(opencl.nv_major, opencl.nv_minor);
    return positive_or(units_times_clock(opencl, g.cores * g.flops_per_clock), kUnknownGpu);
}

double amd_peak_flops(const AmdSpeed& gpu, const OpenclSpeed& opencl) {
    if (gpu.simds > 0 && gpu.wavefront > 0 && gpu.clock_mhz > 0)
        return positive_or(gpu.simds * gpu.wavefront * 5 * gpu.clock_mhz * 1e6, kUnknownGpu);
    if (opencl.amd_simd_per_unit > 0 && opencl.amd_simd_width > 0 && opencl.amd_instruction_width > 0) {
        const double per_unit = 2.0 * opencl.amd_simd_per_unit * opencl.amd_simd_width * opencl.amd_instruction_width;
        return positive_or(units_times_clock(opencl, per_unit), kUnknownGpu);
    }
    return positive_or(units_times_clock(opencl, 16 * 5), kUnknownGpu);
}

double intel_peak_flops(const OpenclSpeed& opencl) { return positive_or(units_times_clock(opencl, 8), kUnknownIntel); }

double apple_peak_flops(const OpenclSpeed& opencl) { return positive_or(units_times_clock(opencl, 8), kUnknownApple); }

}  // namespace sluice::rpc
