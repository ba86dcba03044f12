// SPDX-License-Identifier: LGPL-3.0-or-later
// db_purge: moves workunits and results that are over from the database to archives. Upstream's program of that name,
// same options and files.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/cleaning/db_purge.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

struct PurgeWords {
    PurgeOptions purge;
    std::string app;
    bool gzip = false, zlib = false, zip = false;
    std::int64_t max = 0, per_file = 0;
    std::optional<int> sleep;
};

void define_options(CommandLine& line, PurgeWords& o) {
    line.option("--min_age_days", o.purge.filter.min_age_days, "only workunits that nobody wrote to for X days", "X");
    line.option("--max", o.max, "end after N workunits");
    line.option("--max_wu_per_file", o.per_file, "begin new archive files after N workunits");
    line.option("--app", o.app, "only workunits of this app", "NAME");
    line.flag("--batch", o.purge.filter.finished_batches, "only jobs of no batch, and of retired batches");
    line.flag("--gzip", o.gzip, "compress the archives (.gz)");
    line.flag("--zlib", o.zlib, "the same as --gzip");
    line.flag("--zip", o.zip, "pack each archive file into a .zip when it is closed; needs the program zip");
    line.flag("--no_archive", o.purge.no_archive, "delete rows without archiving them");
    line.flag("--daily_dir", o.purge.archive.daily_folder, "new files each day (UTC), in archives/YYYY_MM_DD");
    line.option("--sleep", o.sleep, "upstream's word for --sleep_interval: 1 to 86400");
    line.flag("--dont_delete", o.purge.dont_delete, "archive, and leave the rows; implies --one_pass");
    line.section(
        "FILES",
        "archives/wu_archive_T.xml, result_archive_T.xml: a record for each row. archives/wu_index_T.xml, "
        "result_index_T.xml: id, T and name, a line each. T is the time at which they were opened. archives/.open_T_PID: "
        "how far open files are complete; the next db_purge ends them if this one is killed. archives/.lock: held by the "
        "db_purge that works on a page; others wait for it.");
    line.section(
        "EXAMPLES",
        "As a daemon of config.xml, a week after a job is over:\n<daemon><cmd>db_purge --min_age_days 7 --gzip "
        "--daily_dir</cmd></daemon>");
}

std::string take(PurgeWords& o, DaemonStart& start) {
    PurgeOptions& p = o.purge;
    if (o.max < 0 || o.per_file < 0 || p.filter.min_age_days < 0) return "numbers below 0 make no sense here";
    if (o.sleep && (*o.sleep < 1 || *o.sleep > 86400)) return "--sleep must be 1 to 86400";
    if (o.sleep) start.settings.sleep_interval = *o.sleep;
    if (start.share.n > 0 && !p.no_archive) return "--mod needs --no_archive";
    if (o.zip && (o.gzip || o.zlib)) return "--zip or --gzip, not both";
    if (p.no_archive && p.dont_delete) return "--no_archive and --dont_delete: nothing is left to do";
    p.max_workunits = o.max, p.max_wu_per_file = o.per_file;
    p.archive.compression = o.zip                ? ArchiveCompression::kZip
                            : (o.gzip || o.zlib) ? ArchiveCompression::kGzip
                                                 : ArchiveCompression::kNone;
    p.filter.share = start.share;
    p.dry_run = start.dry_run;
    start.settings.one_pass = start.settings.one_pass || p.dont_delete;
    p.one_pass = start.settings.one_pass;
    p.every = start.settings.sleep_interval;
    return "";
}

int run(PurgeWords& o, DaemonStart& start) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    DbSettings settings = db_settings(config);
    settings.read_only = start.dry_run;
    Database db(settings);
    const auto store = make_cleaning_store(db);
    if (!o.app.empty()) {
        const auto app = store->app_id(o.app);
        if (!app) throw ConfigError("Can't find app " + o.app);
        o.purge.filter.appid = *app;
    }
    o.purge.archive.folder = start.settings.project / "archives";
    o.purge.assignments = config.enable_assignment;
    o.purge.filter.not_of_open = config.compat_level >= 1;
    DbPurge purge(o.purge, *store, start.env.clock);
    return start.run(purge);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    PurgeWords options;
    const DaemonProgram program{
        .summary = "move workunits and results that are over from the database to archives",
        .description =
            "A workunit leaves the database, with all its results, when file_deleter has deleted its input files. Its rows are "
            "deleted only after they are on disk. Workunits whose name contains nodelete stay. Volunteers no longer see jobs "
            "that were purged: --min_age_days keeps them for a while. At compat_level 1 jobs of a batch in progress stay.",
        .settings = {.name = "db_purge", .sleep_interval = 300},
        .has_mod = true,
        .has_dry_run = true,
        .options = [&](CommandLine& line) { define_options(line, options); },
        .check = [&](DaemonStart& start) { return take(options, start); },
        .run = [&](DaemonStart& start) { return run(options, start); }};
    return daemon_main(program, argc, argv);
}
