// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Peak speed of a GPU from its properties, for clients that do not send <peak_flops>. Formulas: upstream behaviour.
#include "sched/rpc/parse_parts.h"

namespace sluice::rpc {

struct NvidiaSpeed {
    int major = 0, minor = 0;  ///< compute capability
    double clock_khz = 0, multiprocessors = 0;
};
struct AmdSpeed {
    double simds = 0, wavefront = 0, clock_mhz = 0;
};

// In flops per second of one device; always > 0.
double nvidia_peak_flops(const NvidiaSpeed& gpu, const OpenclSpeed& opencl);
double amd_peak_flops(const AmdSpeed& gpu, const OpenclSpeed& opencl);
double intel_peak_flops(const OpenclSpeed& opencl);
double apple_peak_flops(const OpenclSpeed& opencl);

}  // namespace sluice::rpc
