// SPDX-License-Identifier: LGPL-3.0-or-later
// xadd: the platforms and apps of PROJECT/project.xml that are not yet in the database are added. Of those that are
// there the names that people see and min_version are brought in step; it may be run again and again.
#include <fmt/format.h>

#include <cstdio>

#include "config/db_settings.h"
#include "config/load.h"
#include "config/project/add_rows.h"
#include "config/project/project_xml.h"
#include "sluice/base/clock.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/users.h"
#include "sluice/daemon/program.h"
#include "sluice/db/project_setup_store.h"

namespace sluice {
namespace {

int run(int argc, const char* const* argv) {
    CommandLine line(
        "xadd", "Adds the platforms and apps of project.xml to the database",
        "Adds new ones. Of existing apps it changes user_friendly_name and min_version to what project.xml says. Run "
        "it in the project's folder, as often as you like. The feeder takes the change up at once.");
    if (const auto status = line.parse(argc, argv)) return *status;
    const fs::path project = find_project_dir();
    refuse_root_in_project_of_another("bin/xadd", project);
    const ProjectConfig config = load_config_and_warn(project);
    const fs::path file = project / "project.xml";
    const auto text = read_file(file);
    if (!text) throw ConfigError(file.string() + " does not exist: write the platforms and apps of the project there");
    const ProjectXml wanted = parse_project_xml(*text, file.string());

    Database db(db_settings(config));
    const auto store = make_project_setup_store(db);
    const std::int64_t now = SystemClock().now_sec();
    ChangedRows rows;
    db.transaction([&] { rows = add_rows(*store, wanted, now, OfExisting::kUpdate); });
    for (const std::string& text_line : rows.lines) fmt::print("{}\n", text_line);
    if (rows.changed > 0) ask_feeder_to_reread(project);
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    return sluice::tool_main({}, [&] { return sluice::run(argc, argv); });
}
