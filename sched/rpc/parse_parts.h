// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The parts of the request parser, one function a block. Each is called on the block's start tag and has consumed the
// block, end tag included, when it returns.
#include <string>
#include <string_view>

#include "sched/rpc/request.h"
#include "sluice/xml/reader.h"

namespace sluice::rpc {

struct ParseState {
    SchedulerRequest& request;
    const RequestLimits& limits;
    /// An element that nobody knows: its name is kept for the debug log, its content skipped.
    void unknown(XmlReader& xml);
};

// parse_host.cpp
void parse_host_info(XmlReader& xml, ParseState& state);
void parse_time_stats(XmlReader& xml, ParseState& state);
void parse_net_stats(XmlReader& xml, ParseState& state);
void parse_disk_usage(XmlReader& xml, ParseState& state);

// parse_coprocs.cpp
void parse_coprocs(XmlReader& xml, ParseState& state);
/// <coproc_opencl> and <opencl_cpu_info>. `speed` receives what the speed of a device is made of.
struct OpenclSpeed {
    int compute_units = 0, clock_mhz = 0, nv_major = 0, nv_minor = 0;
    int amd_simd_per_unit = 0, amd_simd_width = 0, amd_instruction_width = 0;
};
OpenclProps parse_opencl(XmlReader& xml, OpenclSpeed& speed);

// parse_results.cpp
void parse_result(XmlReader& xml, ParseState& state);
void parse_trickle(XmlReader& xml, ParseState& state);

// parse_lists.cpp
void parse_alt_platform(XmlReader& xml, ParseState& state);
void parse_app_versions(XmlReader& xml, ParseState& state);
void parse_other_results(XmlReader& xml, ParseState& state);
void parse_in_progress_results(XmlReader& xml, ParseState& state);
void parse_file_info(XmlReader& xml, ParseState& state);
void parse_user_keywords(XmlReader& xml, ParseState& state);

}  // namespace sluice::rpc
