// SPDX-License-Identifier: LGPL-3.0-or-later
// wu_check: finds jobs whose input files are gone. Upstream's program of that name; this one looks for all files of a
// job.
#include <fmt/core.h>

#include "config/db_settings.h"
#include "config/load.h"
#include "sluice/base/clock.h"
#include "sluice/base/download_folder.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"
#include "sluice/daemon/program.h"
#include "sluice/db/work_store.h"
#include "sluice/xml/reader.h"

namespace sluice {
namespace {

constexpr int kResultsPage = 500;

/// Names of the input files that clients get from this project.
std::vector<std::string> own_files(std::string_view xml_doc, const std::string& download_url) {
    std::vector<std::string> names;
    XmlReader xml(xml_doc);
    for (auto token = xml.next(); token != XmlReader::Kind::kEof; token = xml.next()) {
        if (token != XmlReader::Kind::kStart || xml.name() != "file_info" || xml.empty_element()) continue;
        std::string name;
        bool here = false, has_url = false;
        while (xml.next_child("file_info")) {
            if (xml.name() == "name") {
                name = xml.text(255).value_or("");
            } else if (xml.name() == "url") {
                has_url = true;
                here = xml.text_cut(4096).starts_with(download_url) || here;
            } else {
                xml.skip();
            }
        }
        if (is_valid_file_name(name) && (here || !has_url)) names.push_back(name);
    }
    return names;
}

class JobChecker {
  public:
    JobChecker(const ProjectConfig& config, JobCheckStore& store) : config_(config), store_(store) {}

    /// Says what is missing of all jobs in that state.
    void check(ServerState state, bool repair) {
        std::int64_t wrong = 0, all = 0, repaired = 0;
        SystemClock clock;
        for (Id after = 0;;) {
            const std::vector<OpenResult> results = store_.page(state, after, kResultsPage);
            if (results.empty()) break;
            after = results.back().id;
            std::vector<Id> bad;
            for (const OpenResult& result : results)
                if (lacks_files(result)) bad.push_back(result.id);
            all += static_cast<std::int64_t>(results.size()), wrong += static_cast<std::int64_t>(bad.size());
            if (repair) repaired += store_.end_unsent(bad, clock.now_sec());
        }
        fmt::print("{} out of {} errors\n", wrong, all);
        if (repair && wrong > 0) fmt::print("{} results ended\n", repaired);
    }

  private:
    bool lacks_files(const OpenResult& result) {
        bool lacks = false;
        for (const std::string& name : own_files(result.xml_doc, config_.download_url)) {
            const fs::path file = fanout_path(config_.download_dir, name, config_.uldl_dir_fanout);
            std::error_code ec;
            const bool there = fs::exists(file, ec);
            if (ec) throw FileError("can't look for " + file.string() + ": " + file_problem(ec.value(), file));
            if (!there) fmt::print("no file {} for result {}\n", in_one_line(file.string()), result.id);
            lacks = lacks || !there;
        }
        return lacks;
    }

    const ProjectConfig& config_;
    JobCheckStore& store_;
};

int check_jobs(bool repair) {
    const fs::path project = find_project_dir();
    refuse_root_in_project_of_another("bin/wu_check", project);
    const ProjectConfig config = load_config_and_warn(project);
    DbSettings settings = db_settings(config);
    settings.read_only = !repair;
    require_download_folder(config.download_dir);
    if (repair && !has_files(config.download_dir))
        throw FileError(
            "no file lies in " + config.download_dir +
            ": is a file system not mounted? Nothing was repaired; wu_check without --repair lists the jobs");
    Database db(settings);
    const auto store = make_job_check_store(db);
    JobChecker checker(config, *store);
    fmt::print("Unsent results:\n");
    checker.check(ServerState::kUnsent, repair);
    fmt::print("In progress results:\n");
    checker.check(ServerState::kInProgress, false);
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    bool repair = false;
    CommandLine line(
        "wu_check", "find jobs whose input files are gone",
        "Lists the results, unsent or in progress, whose input files are not in the download hierarchy. Files that other "
        "servers hold are not looked for.");
    line.flag("--repair", repair,
              "end those that are unsent: they could not be sent, and the transitioner goes on from there");
    line.section("EXIT STATUS", "0: all were looked at. 1: they could not be; what was printed is done.");
    return tool_main({"wu_check"}, [&] {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        return check_jobs(repair);
    });
}
