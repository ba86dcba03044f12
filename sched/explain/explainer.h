// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// sched_explain: attaches to the live array and the database, both for reading only, and judges one request.
#include <filesystem>
#include <memory>
#include <string>

#include "sched/explain/host_request.h"
#include "sched/explain/report.h"

namespace sluice {

struct ExplainOptions {
    Id host = 0;               ///< --host; 0: --request
    std::string request_file;  ///< "-": standard input
    std::string job, app;
    std::string config_file;      ///< --config: decisions by this file; database and array as in PROJECT/config.xml
    std::string plan_class_file;  ///< --plan_class_spec, likewise
    bool real_scan = false;       ///< --real_scan: N and M hold; otherwise every job is judged
    std::uint64_t seed = 1;       ///< --seed: where the scan begins, and the choice among versions
    RequestedWork wanted;
};

/// Throws Error: what is wrong with the options, the project, the array or the database.
Report explain_request(const std::filesystem::path& project, const ExplainOptions& options);

}  // namespace sluice
