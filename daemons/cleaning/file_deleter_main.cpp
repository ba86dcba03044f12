// SPDX-License-Identifier: LGPL-3.0-or-later
// file_deleter: deletes the files of results and workunits that are over. Upstream's program of that name, same
// options.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/cleaning/file_deleter.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

struct DeleterWords {
    FileDeleterOptions deleter;
    std::string app, download_dir;
    std::optional<Id> appid;
    bool input_only = false, output_only = false, no_retry = false, no_update = false, ignored = false;
};

void define_options(CommandLine& line, DeleterWords& o) {
    line.option("--app", o.app, "only files of this app", "NAME");
    line.id_option("--appid", o.appid, "only files of the app with this id; goes before --app");
    line.flag("--input_files_only", o.input_only, "only files of workunits");
    line.flag("--output_files_only", o.output_only, "only files of results");
    line.flag("--preserve_wu_files", o.deleter.preserve_wu_files, "mark workunits, keep their files");
    line.flag("--preserve_result_files", o.deleter.preserve_result_files, "mark results, keep their files");
    line.flag("--dont_retry_errors,--dont_retry_error", o.no_retry,
              "do not try again what could not be deleted; without it: after 1 h, 2 h, 4 h, then each day");
    line.flag("--no_db_update", o.no_update, "delete files, mark nothing; implies --one_pass");
    line.option("--xml_doc_like", o.deleter.filter.xml_doc_like, "only workunits whose XML is LIKE that (SQL)",
                "PATTERN");
    line.option("--download_dir", o.download_dir, "where input files lie, instead of <download_dir>", "DIR");
    line.flag("--dont_delete_antiques", o.ignored, "accepted, and without effect; see antique_file_deleter");
    line.section(
        "FILES",
        "upload/ and download/ (<upload_dir>, <download_dir>). If no file at all lies in one of them, a file system "
        "is probably not mounted: nothing is deleted or marked there, and a line says so once an hour.");
    line.section("EXIT STATUS",
                 "0: stopped, or the pass is done. 1: wrong options, or with --one_pass a folder was away.");
}

std::string take(DeleterWords& o, DaemonStart& start) {
    if (o.input_only && o.output_only) return "--input_files_only or --output_files_only, not both";
    FileDeleterOptions& d = o.deleter;
    d.results = !o.input_only, d.workunits = !o.output_only;
    d.retry_errors = !o.no_retry, d.update = !o.no_update, d.dry_run = start.dry_run;
    d.filter.share = start.share;
    start.settings.one_pass = start.settings.one_pass || o.no_update;
    d.one_pass = start.settings.one_pass;
    d.every = start.settings.sleep_interval;
    return "";
}

int run(DeleterWords& o, DaemonStart& start) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    DbSettings settings = db_settings(config);
    settings.read_only = start.dry_run;
    settings.turn_comes_again = !start.settings.one_pass;  // files of other rows can be deleted meanwhile
    Database db(settings);
    const auto store = make_cleaning_store(db);
    o.deleter.delete_md5 = config.cache_md5_info;
    if (o.appid) {
        o.deleter.filter.appid = *o.appid;
    } else if (!o.app.empty()) {
        const auto app = store->app_id(o.app);
        if (!app) throw ConfigError("Can't find app " + o.app);
        o.deleter.filter.appid = *app;
    }
    FileDeleter deleter(o.deleter, FileTree(config.upload_dir, config.uldl_dir_fanout),
                        FileTree(o.download_dir.empty() ? config.download_dir : o.download_dir, config.uldl_dir_fanout),
                        *store, start.env.clock);
    return start.run(deleter);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    DeleterWords options;
    const DaemonProgram program{
        .summary = "delete input and output files that nobody needs any more",
        .description =
            "The transitioner marks results and workunits whose files may go. This daemon deletes the files, and "
            "then marks the rows. Input files with <no_delete/> stay, and so do all files of workunits whose name "
            "contains nodelete. A file of a file group stays while one of the group's workunits is unfinished.",
        .settings = {.name = "file_deleter", .sleep_interval = 5},
        .has_mod = true,
        .has_dry_run = true,
        .options = [&](CommandLine& line) { define_options(line, options); },
        .check = [&](DaemonStart& start) { return take(options, start); },
        .run = [&](DaemonStart& start) { return run(options, start); }};
    return daemon_main(program, argc, argv);
}
