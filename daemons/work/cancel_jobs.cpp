// SPDX-License-Identifier: LGPL-3.0-or-later
// cancel_jobs: ends workunits that nobody needs any more. Upstream's program of that name takes a range of ids or one
// name. This one also takes a batch, an app or a pattern. It writes page by page, so it holds no lock for long.
#include <fmt/core.h>

#include <charconv>

#include "config/db_settings.h"
#include "config/load.h"
#include "sluice/base/clock.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/users.h"
#include "sluice/daemon/daemon.h"
#include "sluice/daemon/program.h"
#include "sluice/db/work_store.h"

namespace sluice {
namespace {

constexpr int kPage = 200;  ///< workunits a transaction

struct CancelArguments {
    std::vector<std::string> range;  ///< MIN MAX
    std::string name, name_like, app;
    std::optional<Id> batch;
    bool dry_run = false;
};

std::optional<Id> id_of(const std::string& text) {
    Id id = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc() || end != text.data() + text.size() || id <= 0) return std::nullopt;
    return id;
}

/// "" or what is wrong.
std::string fill(const CancelArguments& wanted, CancelFilter& filter) {
    if (!wanted.range.empty()) {
        if (wanted.range.size() != 2) return "give MIN and MAX, the first and the last id of a range";
        filter.first = id_of(wanted.range[0]), filter.last = id_of(wanted.range[1]);
        if (!filter.first || !filter.last) return "MIN and MAX are ids of workunits: numbers above 0";
        if (*filter.first > *filter.last) return "MIN is above MAX";
    }
    if (!wanted.name.empty()) filter.name = wanted.name;
    if (!wanted.name_like.empty()) filter.name_like = wanted.name_like;
    filter.batch = wanted.batch;
    if (wanted.range.empty() && !filter.name && !filter.name_like && !filter.batch && wanted.app.empty())
        return "say which workunits: MIN MAX, --name, --name_like, --batch or --app";
    return "";
}

void print(const Cancelled& all, bool dry_run) {
    if (dry_run)
        fmt::print("dry run, nothing was written: {} workunits would be cancelled; {} unsent results; {} in progress\n",
                   all.workunits, all.unsent, all.in_progress);
    else
        fmt::print("{} workunits cancelled; {} results will not be sent; hosts will abort {} in progress\n",
                   all.workunits, all.unsent, all.in_progress);
}

int cancel(const CancelArguments& wanted, CancelFilter filter) {
    const std::filesystem::path project = find_project_dir();
    refuse_root_in_project_of_another("bin/cancel_jobs", project);
    const ProjectConfig config = load_config_and_warn(project);
    DbSettings settings = db_settings(config);
    settings.read_only = wanted.dry_run;
    Database db(settings);
    const auto store = make_cancel_store(db);
    if (!wanted.app.empty() && !(filter.appid = store->app_id(wanted.app)))
        throw ConfigError("there is no app " + wanted.app);
    Cancelled all;
    SystemClock clock;
    for (Id after = 0;;) {
        const std::vector<Id> ids = store->page(filter, after, kPage);
        if (ids.empty()) break;
        all += wanted.dry_run ? store->count(ids) : store->cancel(ids, clock.now_sec());
        after = ids.back();
    }
    print(all, wanted.dry_run);
    if (all.in_progress > 0 && !config.send_result_abort)
        fmt::print(stderr, "cancel_jobs: hosts abort results only with <send_result_abort> in config.xml\n");
    if (all.workunits > 0) return 0;
    // A range may well be empty: db_purge takes jobs that are done. Upstream's program says nothing of it.
    const bool range_only =
        !wanted.range.empty() && !filter.name && !filter.name_like && !filter.batch && wanted.app.empty();
    fmt::print(stderr, "cancel_jobs: no workunit is meant by that\n");
    return range_only ? 0 : 1;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    CancelArguments wanted;
    CommandLine line(
        "cancel_jobs", "cancel workunits: their unsent results are never sent, hosts abort the others",
        "Name workunits by a range of ids, a name, a pattern, a batch or an app; where several are given, all must "
        "be true. At its next request a host learns that it is to abort a running job. The transitioner then ends "
        "the workunit as an error, and the assimilator gets error mask 16. --batch, --app and --name_like leave workunits "
        "alone that have a canonical result. Cancelling cannot be undone: count first, with --dry_run.");
    line.option("--name", wanted.name, "the workunit of that name", "NAME");
    line.option("--name_like", wanted.name_like, "names with the wildcards % (any text) and _ (any letter)", "PATTERN");
    line.id_option("--batch", wanted.batch, "jobs of this batch; sluice_batch abort also ends the batch itself");
    line.option("--app", wanted.app, "jobs of this app", "APP");
    line.flag("--dry_run", wanted.dry_run, "count what would be cancelled, and write nothing");
    line.section(
        "EXAMPLES",
        "cancel_jobs 1200 1300\ncancel_jobs --name tile_17\ncancel_jobs --app tiles --name_like 'tile_2026%' --dry_run");
    line.section(
        "EXIT STATUS",
        "0: cancelled, or no workunit has an id from MIN to MAX. 1: nothing is meant by other words, or it could not be "
        "done; what was printed is done.");
    line.positional("MIN MAX", wanted.range, "first and last id of a range of workunits");
    return tool_main({"cancel_jobs"}, [&] {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        CancelFilter filter;
        const std::string wrong = fill(wanted, filter);
        return wrong.empty() ? cancel(wanted, filter) : line.fail(wrong);
    });
}
