// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/daemon/level_file.h"

#include <algorithm>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice {

std::optional<LogLevel> level_in(std::string_view text, std::string_view program, std::vector<std::string>& wrong) {
    std::optional<LogLevel> found;
    for (const std::string_view whole : split(text, '\n')) {
        const std::string_view line = trim(whole);
        if (line.empty()) continue;
        const std::size_t space = line.find(' ');
        const auto level = parse_int(trim(line.substr(std::min(space, line.size()))));
        if (!level || *level < 1 || *level > 4)
            wrong.push_back(in_one_line(line));
        else if (line.substr(0, space) == program || line.substr(0, space) == "all")
            found = static_cast<LogLevel>(*level);
    }
    return found;
}

LevelFile::LevelFile(const std::filesystem::path& file, std::string program)
    : file_(file), program_(std::move(program)), usual_(log_level()) {
    watched_.watch({file});
}

void LevelFile::look() {
    if (!watched_.changed() && !first_) return;
    first_ = false;
    std::vector<std::string> wrong;
    LogLevel level = usual_;
    try {
        level = level_in(read_file(file_, 65536).value_or(""), program_, wrong).value_or(usual_);
    } catch (const FileError& e) {
        log_warning("{}", e.what());
    }
    for (const std::string& line : wrong)
        log_warning("{}: '{}' is not a program (or all) and a level from 1 to 4", file_.string(), line);
    if (level == log_level()) return;
    log_normal("The log level is {} from now on ({})", static_cast<int>(level), file_.string());
    log_set_level(level);
}

}  // namespace sluice
