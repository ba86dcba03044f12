// SPDX-License-Identifier: LGPL-3.0-or-later
// db_dump: writes the files that statistics sites fetch. Upstream's program of that name, same options and files.
#include <algorithm>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/statistics/db_dump.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

struct DumpWords {
    std::string spec, db_host;
    std::optional<int> retry_period, keep;

    /// At level 0 all stay, as upstream leaves them.
    std::optional<int> keep_old(const ProjectConfig& config) const {
        constexpr int kAtLevel1 = 7;
        if (keep || config.compat_level == 0) return keep;
        return kAtLevel1;
    }
};

class DumpTask final : public Service {
  public:
    DumpTask(DumpSpec spec, std::string text, const DumpOptions& options, DumpStore& store, const Clock& clock)
        : Service(0), spec_(std::move(spec)), text_(std::move(text)), options_(options), store_(store), clock_(clock) {}
    Turn turn() override {
        const bool done = dump_statistics(spec_, text_, options_, store_, clock_);
        log_normal("{}", done ? "db_dump finished" : "stopped; the files of the last run stay");
        return {TurnResult::kFinished};
    }

  private:
    DumpSpec spec_;
    std::string text_;
    DumpOptions options_;
    DumpStore& store_;
    const Clock& clock_;
};

int run(const DumpWords& words, DaemonStart& start) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    DbSettings settings = replica_db_settings(config);
    if (!words.db_host.empty()) settings.host = words.db_host;
    settings.read_only = true;
    const auto text = read_file(words.spec);
    if (!text) throw ConfigError("there is no file " + words.spec + " (--dump_spec)");
    DumpSpec spec = parse_dump_spec(*text);
    Database db(settings);
    const auto store = make_dump_store(db);
    const DumpOptions options{config.user_country, config.user_url, config.credit_by_app, words.keep_old(config)};
    DumpTask task(std::move(spec), *text, options, *store, start.env.clock);
    return start.run(task);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    DumpWords words;
    const DaemonProgram program{
        .summary = "write the files that statistics sites fetch from a project",
        .description =
            "The specification names tables, files, orders and the folder in which they are published, usually "
            "html/stats. All files are written beside that folder, and then take its place in one step; its old files "
            "go to html/stats_DATE. If the disk is full, the old files stay. Deleted accounts are left out. Where the project asks for consent (consent type STATSEXPORT), everybody who did "
            "not agree is left out. Run it once a day, as a <task> in config.xml.",
        .settings = {.name = "db_dump", .lock_name = "db_dump"},
        .lifetime = Lifetime::kAlwaysOnce,
        .options =
            [&](CommandLine& line) {
                line.option("--dump_spec", words.spec, "the specification, an XML file (required)", "FILE");
                line.option("--db_host", words.db_host, "read from this server instead of <replica_db_host>", "HOST");
                line.option("--keep", words.keep,
                            "how many folders of earlier dumps (html/stats_DATE) stay; default: all at compat_level 0, "
                            "7 at level 1");
                line.option("--retry_period", words.retry_period, "accepted: a database that is away is waited for",
                            "S");
                line.section(
                    "EXAMPLES",
                    "<task><cmd>db_dump -d 3 --dump_spec ../db_dump_spec.xml</cmd><period>24 hours</period></task>");
            },
        .check =
            [&](DaemonStart&) {
                if (words.spec.empty()) return "--dump_spec is required";
                return words.keep.value_or(0) < 0 ? "--keep must not be negative" : "";
            },
        .run = [&](DaemonStart& start) { return run(words, start); }};
    return daemon_main(program, argc, argv);
}
