// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/command.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/base/text.h"

namespace sluice {
namespace {

/// As typed; turned into FeederOptions when all is known.
struct FeederWords {
    bool order = false;  ///< order_of() looks which one
    std::string appids;
    std::vector<std::string> users;
    double purge_stale_minutes = 0;
};

void describe(CommandLine& line, FeederWords& t, FeederOptions& o) {
    line.flag("--allapps", o.allapps, "divide the slots among the apps by app.weight, interleaved");
    line.flag("--priority_order", t.order, "highest priority first, then by id");
    line.flag("--priority_order_create_time", t.order, "highest priority first, then by workunit id (the default)");
    line.flag("--priority_asc", t.order, "lowest priority first");
    line.flag("--random_order", t.order, "by the column result.random");
    line.flag("--random_order_db", t.order, "in an order that is drawn anew");
    line.flag("--by_batch", t.order, "batches take turns");
    line.flag("--batch_accel", t.order,
              "keep jobs of high (> 0) and of low priority both in the array, mixed at random");
    line.option("--batch_accel_share", o.accel_share,
                "share of the slots for jobs of high priority with --batch_accel");
    line.option("--purge_stale", t.purge_stale_minutes,
                "take out jobs that nobody took for so many minutes, and free their workunits of an HR class",
                "MINUTES");
    line.option(
        "--rotate_after", o.rotate_after,
        "if hosts looked in vain for so long at more than half of a full array, replace the jobs of least value: at most "
        "a tenth of the array in a tenth of this time; 0: never",
        "SECONDS");
    line.option("--starvation_after", o.starvation_after, "report jobs that were passed over for so long; 0: never",
                "SECONDS");
    line.option("--appids", t.appids, "only jobs of these apps (comma-separated ids)", "A,B,...");
    line.option("--wmod", o.workunit_share, "only results whose workunit's id mod N is I");
    line.repeatable("--user", t.users,
                    "only jobs of batches of this user; may be given many times: users take turns by user_submit.quota "
                    "(upstream's feeder_user)",
                    "ID");
    line.option("--sleep_interval", o.sleep_interval,
                "leave a filled array alone for so long; without it, slots are refilled as they are taken", "SECONDS");
    line.flag(
        "--leave_reread_db", o.leave_reread_db,
        "do not remove reread_db: BOINC's feeder, which runs beside this one, does that; apps and versions are also "
        "read every minute");
}

void describe_rest(CommandLine& line) {
    line.section("FILES",
                 "config.xml, hr_info.txt (with <hr_allocate_slots>), size_census_APP: read in the project's folder.\n"
                 "reread_db: the feeder reads apps, versions and platforms again and removes this file.\n"
                 "stop_daemons: ends the feeder.\n"
                 "/dev/shm/sluice_KEY_HASH_RANDOM: the job array. PROJECT/job_array_HOST_KEY says which one. KEY: "
                 "<shmem_key>.");
    line.section("SIGNALS",
                 "SIGTERM, SIGINT, SIGHUP: remove the job array and exit. SIGUSR1: print the state on stderr.");
    line.section("EXIT STATUS", "0: stopped as asked. 1: it could not start (another feeder, bad settings).");
    line.section(
        "EXAMPLES",
        "feeder -d 3 --allapps --purge_stale 60\nfeeder --mod 2 0        (and --mod 2 1 on the other machine: a share that does not change)");
}

constexpr std::pair<std::string_view, FeederOrder> kOrders[] = {
    {"priority_order", FeederOrder::kPriority},  {"priority_order_create_time", FeederOrder::kDefault},
    {"priority_asc", FeederOrder::kPriorityAsc}, {"random_order", FeederOrder::kRandomColumn},
    {"random_order_db", FeederOrder::kRandom},   {"by_batch", FeederOrder::kByBatch},
    {"batch_accel", FeederOrder::kBatchAccel},
};

/// The last ordering option wins, as upstream.
FeederOrder order_of(int argc, const char* const* argv) {
    FeederOrder order = FeederOrder::kDefault;
    for (int i = 1; i < argc; ++i) {
        const std::string_view arg = argv[i];
        const auto dashes = arg.find_first_not_of('-');
        if (dashes != 1 && dashes != 2) continue;
        for (const auto& [name, value] : kOrders) {
            if (arg.substr(dashes) == name) order = value;
        }
    }
    return order;
}

bool parse_ids(const std::vector<std::string>& texts, std::vector<Id>& ids) {
    for (const std::string& text : texts) {
        const auto id = parse_int(text);
        if (trim(text).empty() || !id || *id <= 0) return false;
        ids.push_back(*id);
    }
    return true;
}

/// "" or what is wrong.
std::string take(const FeederWords& t, FeederOptions& o) {
    std::vector<std::string> appids;
    for (const std::string_view id : split(t.appids, ',')) appids.emplace_back(id);
    if (!t.appids.empty() && !parse_ids(appids, o.appids)) return "--appids takes ids of apps with commas between them";
    if (!parse_ids(t.users, o.users)) return "--user takes the id of a user";
    if (o.accel_share < 0 || o.accel_share > 1) return "--batch_accel_share is a number from 0 to 1";
    if (t.purge_stale_minutes < 0 || o.sleep_interval.value_or(0) < 0 || o.rotate_after < 0 || o.starvation_after < 0)
        return "Times can't be negative";
    o.purge_stale = t.purge_stale_minutes * 60;
    return "";
}

}  // namespace

DaemonProgram feeder_program(int argc, const char* const* argv, FeederOptions& o) {
    const auto typed = std::make_shared<FeederWords>();
    return {
        .summary = "keeps the job array full of unsent jobs",
        .description =
            "Chooses unsent results by the options below and puts them into the shared job array, from which the "
            "scheduler (cgi) sends them. One feeder runs per project and machine; feeders of several machines share the "
            "jobs evenly among those that live, unless --mod, --wmod or --sleep_interval is given. With --one_pass it "
            "fills the array once and leaves it in place.",
        .settings = {.name = "feeder"},
        .lifetime = Lifetime::kAtOwnPace,
        .has_mod = true,
        .has_dry_run = true,
        .options =
            [typed, &o](CommandLine& line) {
                describe(line, *typed, o);
                describe_rest(line);
            },
        .check =
            [typed, &o, argc, argv](DaemonStart& start) {
                o.order = order_of(argc, argv);
                o.share = start.share;
                o.dry_run = start.dry_run;
                o.one_pass = start.settings.one_pass && !start.dry_run;
                return take(*typed, o);
            }};
}

}  // namespace sluice
