// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/assimilator/script.h"

#include <fmt/core.h>

#include "daemons/validator/script_words.h"

namespace sluice {

std::vector<std::string> parse_script_option(const std::string& option) {
    return script_words("--script", option, {"files", "files2", "wu_id", "wu_name", "result_id", "runtime", "batch_id"},
                        {"wu_id", "files"});
}

std::vector<std::string> script_arguments(const std::vector<std::string>& script, const std::filesystem::path& bin,
                                          const Assimilable& job, const std::vector<OutputFile>& files) {
    std::vector<std::string> args{(bin / script.front()).string()};
    if (!job.canonical) {
        args.insert(args.end(), {"--error", std::to_string(job.wu.error_mask), job.wu.name, std::to_string(job.wu.id),
                                 std::to_string(job.wu.batch)});
        return args;
    }
    for (std::size_t i = 1; i < script.size(); ++i) {
        const std::string& token = script[i];
        if (token == "files" || token == "files2") {
            for (const OutputFile& f : files) {
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

}  // namespace sluice
