// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The quantile files that size_census writes: PROJECT/size_census_APP, one ascending number a line, size classes - 1
// lines. Read on start and whenever a file changes; an unusable file costs that app its sizes, and nothing else. While
// a file can't be read, what was read of it last holds.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sluice/model/catalogue.h"
#include "sluice/model/project_tables.h"

namespace sluice {

struct Quantiles {
    std::vector<double> values;
    std::string problem;      ///< empty: usable
    bool unreadable = false;  ///< the problem may be temporary: the file is there
};
/// The first `classes` - 1 lines.
Quantiles parse_quantiles(std::string_view text, int classes);

class CensusReader {
  public:
    explicit CensusReader(std::filesystem::path project) : project_(std::move(project)) {}

    /// Fills tables.size_quantiles; one warning for each app whose file became unusable since the last call.
    void read(ProjectTables& tables);
    /// True if a file of one of these apps is not what it was at the last read().
    bool changed(const std::vector<App>& apps) const;

  private:
    /// What tells one content of a file from the next without reading it.
    struct Stamp {
        std::int64_t seconds = 0, nanoseconds = 0, bytes = -1;
        std::uint64_t inode = 0;
        friend bool operator==(const Stamp&, const Stamp&) = default;
    };
    std::filesystem::path file_of(const App& app) const;
    static Stamp stamp_of(const std::filesystem::path& file);
    Quantiles load(const App& app) const;

    std::filesystem::path project_;
    std::unordered_map<std::string, Stamp> stamps_;        ///< by app name, as of the last read()
    std::unordered_map<std::string, std::string> warned_;  ///< by app name: the problem that was reported
    std::unordered_map<std::string, Quantiles> last_;      ///< by app name: of the last read(); the values usable ones
};

}  // namespace sluice
