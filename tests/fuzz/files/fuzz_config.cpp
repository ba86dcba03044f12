// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as config.xml and, after a NUL byte, config_aux.xml: read, or refused in one line that names the file; what
// is read can be worked with.
#include <cmath>
#include <cstdint>

#include "config/load.h"
#include "sluice/base/error.h"
#include "tests/fuzz/files/config_lines.h"
#include "tests/fuzz/rpc/require.h"

namespace {

using namespace sluice;

void check_line(const std::string& line) {
    const std::string fault = fuzz::config_line_fault(line);
    if (!fault.empty()) std::fprintf(stderr, "%s\n", fault.c_str());
    REQUIRE(fault.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::string_view first = text.substr(0, text.find('\0'));
    const std::string_view second = first.size() == size ? std::string_view{} : text.substr(first.size() + 1);
    try {
        const LoadedConfig loaded = parse_config(first, "config.xml", second);
        for (const auto& lines : {loaded.warnings, loaded.errors})
            for (const std::string& line : lines) check_line(line);
        const ProjectConfig& c = loaded.config;
        REQUIRE(c.shmem_work_items > 0 && c.feeder_query_size > 0 && c.max_wus_to_send > 0);
    } catch (const ConfigError& error) {
        check_line(error.what());
    }
    try {
        const DaemonsAndTasks entries = parse_daemons_and_tasks(first, "config.xml");
        for (const auto& lines : {entries.warnings, entries.errors})
            for (const std::string& line : lines) check_line(line);
        for (const TaskEntry& task : entries.tasks) REQUIRE(task.period >= 0);
    } catch (const ConfigError& error) {
        check_line(error.what());
    }
    return 0;
}
