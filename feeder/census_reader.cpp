// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/census_reader.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cmath>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"

namespace sluice {

Quantiles parse_quantiles(std::string_view text, int classes) {
    Quantiles q;
    const auto wanted = static_cast<std::size_t>(classes - 1);
    for (const std::string_view line : split(text, '\n')) {
        if (q.values.size() == wanted) break;
        if (trim(line).empty()) continue;
        const auto value = parse_double(line);
        if (!value || !std::isfinite(*value) || *value < 0) {
            q.problem = fmt::format("\"{}\" is not a speed", in_one_line(trim(line), 40));
            return q;
        }
        if (!q.values.empty() && *value < q.values.back()) {
            q.problem = "its numbers do not ascend";
            return q;
        }
        q.values.push_back(*value);
    }
    if (q.values.size() < wanted) q.problem = fmt::format("it has {} of {} lines", q.values.size(), wanted);
    return q;
}

std::filesystem::path CensusReader::file_of(const App& app) const { return project_ / ("size_census_" + app.name); }

CensusReader::Stamp CensusReader::stamp_of(const std::filesystem::path& file) {
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) return {};
    return {info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_size, info.st_ino};
}

bool CensusReader::changed(const std::vector<App>& apps) const {
    for (const App& app : apps) {
        if (app.size_classes() == 0) continue;
        const auto known = stamps_.find(app.name);
        if (known == stamps_.end() || known->second != stamp_of(file_of(app))) return true;
        // Rights leave no trace in the stamp.
        const auto last = last_.find(app.name);
        if (last != last_.end() && last->second.unreadable && !load(app).unreadable) return true;
    }
    return false;
}

Quantiles CensusReader::load(const App& app) const {
    try {
        const auto text = read_trusted_file(file_of(app), 1 << 20);
        if (!text) return {{}, "there is no such file", false};
        return parse_quantiles(*text, app.size_classes());
    } catch (const FileError& e) {
        return {{}, e.what(), true};
    }
}

void CensusReader::read(ProjectTables& tables) {
    tables.size_quantiles.clear();
    for (const App& app : tables.apps) {
        if (app.size_classes() == 0) continue;
        stamps_[app.name] = stamp_of(file_of(app));  // before reading: a change in between is seen next time
        Quantiles q = load(app);
        Quantiles& last = last_[app.name];
        const bool keeps = q.unreadable && !last.values.empty();
        if (keeps) q.values = last.values;
        if (q.problem.empty()) {
            if (warned_.erase(app.name) != 0) log_normal("{} is usable again", file_of(app).string());
        } else if (std::exchange(warned_[app.name], q.problem) != q.problem) {
            log_warning("{}: {}; {}", file_of(app).string(), q.problem,
                        keeps ? "what was read of it before is used"
                              : "size classes of app " + app.name + " are not used until size_census has written it");
        }
        if (q.problem.empty() || keeps)
            tables.size_quantiles[app.id] = q.values;
        else
            q.values.clear();
        last = std::move(q);
    }
}

}  // namespace sluice
