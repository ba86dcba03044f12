// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/assimilator/script.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "daemons/validator/script_words.h"
#include "sluice/base/process.h"
#include "sluice/daemon/daemon.h"

namespace sluice {

std::vector<std::string> parse_script_option(const std::string& option) {
    return script_words("--script", option, {"files", "files2", "wu_id", "wu_name", "result_id", "runtime", "batch_id"},
                        {"wu_id", "files"});
}

std::vector<std::string> script_arguments(const std::vector<std::string>& script, const std::filesystem::path& bin,
                                          const FinishedWorkunit& job) {
    std::vector<std::string> args{(bin / script.front()).string()};
    if (!job.canonical) {
        args.insert(args.end(), {"--error", std::to_string(job.wu.error_mask), job.wu.name, std::to_string(job.wu.id),
                                 std::to_string(job.wu.batch)});
        return args;
    }
    for (std::size_t i = 1; i < script.size(); ++i) {
        const std::string& token = script[i];
        if (token == "files" || token == "files2") {
            for (const OutputFile& f : job.files) {
                args.push_back(f.path.string());
                if (token == "files2") args.push_back(f.logical);
            }
        } else if (token == "wu_id") {
            args.push_back(std::to_string(job.wu.id));
        } else if (token == "wu_name") {
            args.push_back(job.wu.name);
        } else if (token == "result_id") {
            args.push_back(std::to_string(job.canonical->id));
        } else if (token == "runtime") {
            args.push_back(fmt::format("{:f}", job.canonical->elapsed_time));
        } else if (token == "batch_id") {
            args.push_back(std::to_string(job.wu.batch));
        }
    }
    return args;
}

ScriptHandler::ScriptHandler(const std::string& option, std::filesystem::path bin, double time_limit,
                             const Clock& clock)
    : OneByOneHandler(clock), script_(parse_script_option(option)), bin_(std::move(bin)), time_limit_(time_limit) {}

bool ScriptHandler::reads_files() const {
    return std::ranges::any_of(script_, [](const auto& s) { return s == "files" || s == "files2"; });
}

std::optional<std::string> ScriptHandler::store(const FinishedWorkunit& workunit) {
    const int status =
        run_script(script_arguments(script_, bin_, workunit), ScriptRun{.limit = time_limit_, .stop = stop_requested});
    if (status == kScriptStopped) return std::nullopt;  // it did not fail
    return what_it_says(status);
}

std::string ScriptHandler::what_it_says(int status) const {
    if (status == 0) return "";
    const std::string hint = status != 127
                                 ? ""
                                 : fmt::format(" (is {} there and executable, and the interpreter of its first line?)",
                                               (bin_ / script_.front()).string());
    return fmt::format("{} returned {}{}", script_.front(), status, hint);
}

}  // namespace sluice
