// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// db_dump: the files that statistics sites fetch from PROJECT/html/stats. A specification says which tables, in which
// files; upstream's db_dump_spec.xml is one. All files are written into a folder of their own, which then takes the
// place of the old one in one step.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/clock.h"
#include "sluice/db/dump_store.h"

namespace sluice {

enum class DumpTable { kUser, kTeam, kHost, kUserDeleted, kHostDeleted };

struct DumpOutput {
    int recs_per_file = 0;  ///< 0: one file
    bool detail = false;
    bool gzip = false;
};
struct DumpEnumeration {
    DumpTable table = DumpTable::kUser;
    std::string filename;
    DumpOrder order = DumpOrder::kNone;
    std::vector<DumpOutput> outputs;
};
struct DumpSpec {
    std::filesystem::path output_dir, final_output_dir;
    std::filesystem::path archive_dir;  ///< where an old final_output_dir goes; empty: it stays beside it
    std::vector<DumpEnumeration> enumerations;
    std::vector<std::string> warnings;  ///< what is left out, and why
};
/// Throws ConfigError if a part that must be there is missing.
DumpSpec parse_dump_spec(const std::string& text);

struct DumpOptions {
    bool user_country = false, user_url = false;  ///< options of config.xml: publish these of users
    bool credit_by_app = false;                   ///< user_work.gz and team_work.gz, too
    std::optional<int> keep_old = {};             ///< how many folders of earlier dumps stay; nullopt: all
};

/// Elements as upstream writes them; text is UTF-8, escaped.
std::string user_element(const DumpedUser& user, const DumpOptions& options);
std::string host_element(const DumpedHost& host, bool detail);
std::string team_element(const DumpedTeam& team, const std::string& members);

/// Writes all files to spec.output_dir, to the disk, and puts it in the place of final_output_dir. `spec_text` is
/// published as db_dump.xml. False: a stop was asked for, and final_output_dir is as it was. Throws FileError (the disk
/// is full): the same, and what was written is removed.
bool dump_statistics(const DumpSpec& spec, const std::string& spec_text, const DumpOptions& options, DumpStore& store,
                     const Clock& clock);

}  // namespace sluice
