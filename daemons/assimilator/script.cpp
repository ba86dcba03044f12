// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/assimilator/script.h"

#include <fmt/core.h>

#include <set>

#include "sluice/base/error.h"
#include "sluice/base/text.h"

namespace sluice {

std::vector<std::string> parse_script_option(const std::string& option) {
    static const std::set<std::string> known{"files", "files2", "wu_id", "wu_name", "result_id", "runtime", "batch_id"};
    std::vector<std::string> words;
    for (const auto word : split(option, ' '))
        if (!trim(word).empty()) words.emplace_back(trim(word));
    if (words.empty()) throw ConfigError("--script needs the name of a script in bin/");
    for (std::size_t i = 1; i < words.size(); ++i)
        if (!known.contains(words[i]))
            throw ConfigError("--script: unknown token '" + words[i] +
                              "' (known: files files2 wu_id wu_name result_id runtime batch_id)");
    if (words.size() == 1) words.insert(words.end(), {"wu_id", "files"});
    return words;
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
