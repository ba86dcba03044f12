#include "feeder/command.h"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/base/text.h"
#include "sluice/daemon/command_line.h"

namespace sluice {
namespace {

/// As typed; turned into FeederOptions when all is known.
struct Typed {
    bool order = false;  ///< order_of() looks which one
    std::string appids;
    std::vector<std::string> users;
    std::vector<std::int64_t> mod, wmod;
    double purge_stale_minutes = 0, sleep_interval = std::numeric_limits<double>::quiet_NaN();
};

void describe(CommandLine& line, Typed& t, FeederOptions& o) {
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
    line.option(
        "--purge_stale", t.purge_stale_minutes,
        "take out jobs that nobody took for so many minutes; workunits committed to an HR class are freed of it",
        "MINUTES");
    line.option(
        "--rotate_after", o.rotate_after,
        "when more than half of a full array are jobs that hosts looked at in vain for so long, those of least value "
        "give way to waiting ones, a tenth at most every tenth of this time; 0: never",
        "SECONDS");
    line.option("--starvation_after", o.starvation_after, "report jobs that were passed over for so long; 0: never",
                "SECONDS");
    line.option("--appids", t.appids, "only jobs of these apps (comma-separated ids)", "A,B,...");
    line.option("--mod", t.mod, 2, "only results whose id mod N is I", "N I");
    line.option("--wmod", t.wmod, 2, "only results whose workunit's id mod N is I", "N I");
    line.repeatable(
        "--user", t.users,
        "only jobs of batches of this user, many times: users take turns by user_submit.quota (upstream's feeder_user)",
        "ID");
    line.option("--sleep_interval", t.sleep_interval,
                "after filling the array leave it alone for so long; without it, slots are refilled as they are taken",
                "SECONDS");
    line.flag("--one_pass", o.one_pass, "fill the array once and exit, leaving it in place");
    line.flag("--dry_run", o.dry_run, "print which jobs would be put into which slots, and exit");
    line.debug_level_option();
}

void describe_rest(CommandLine& line) {
    line.section("FILES",
                 "config.xml, hr_info.txt (with <hr_allocate_slots>), size_census_APP: read in the project's folder.\n"
                 "reread_db: when it appears, apps, versions and platforms are read again; it is removed then.\n"
                 "stop_daemons: the feeder exits when it appears.\n"
                 "/dev/shm/sluice_KEY_HASH_RANDOM: the job array; PROJECT/job_array_HOST_KEY says which one. "
                 "KEY: <shmem_key>.");
    line.section("SIGNALS",
                 "SIGTERM, SIGINT, SIGHUP: remove the job array and exit. SIGUSR1: print the state on stderr.");
    line.section("EXIT STATUS",
                 "0: stopped as asked. 1: it could not start (another feeder, no memory, bad settings).");
    line.section(
        "EXAMPLES",
        "feeder -d 3 --allapps --purge_stale 60\nfeeder --mod 2 0        (and --mod 2 1 on the other machine)");
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

bool parse_mod(const std::vector<std::int64_t>& typed, std::int64_t& n, std::int64_t& i) {
    if (typed.empty()) return true;
    n = typed[0], i = typed[1];
    return n > 0 && i >= 0 && i < n;
}

}  // namespace

std::optional<int> parse_feeder_command(int argc, const char* const* argv, FeederOptions& o) {
    CommandLine line(
        "feeder", "keeps the job array full of unsent jobs",
        "Chooses unsent results by the options below and puts them into the shared job array, from which the "
        "scheduler (cgi) sends them. One feeder runs per project and machine.");
    Typed t;
    describe(line, t, o);
    describe_rest(line);
    if (const auto status = line.parse(argc, argv)) return status;
    o.order = order_of(argc, argv);
    std::vector<std::string> appids;
    for (const std::string_view id : split(t.appids, ',')) appids.emplace_back(id);
    if (!t.appids.empty() && !parse_ids(appids, o.appids))
        return line.fail("--appids takes ids of apps with commas between them");
    if (!parse_ids(t.users, o.users)) return line.fail("--user takes the id of a user");
    if (!parse_mod(t.mod, o.mod_n, o.mod_i)) return line.fail("--mod N I: N must be above 0 and I from 0 to N-1");
    if (!parse_mod(t.wmod, o.wmod_n, o.wmod_i)) return line.fail("--wmod N I: N must be above 0 and I from 0 to N-1");
    if (o.accel_share < 0 || o.accel_share > 1) return line.fail("--batch_accel_share is a number from 0 to 1");
    if (t.purge_stale_minutes < 0 || t.sleep_interval < 0 || o.rotate_after < 0 || o.starvation_after < 0)
        return line.fail("Times can't be negative");
    o.purge_stale = t.purge_stale_minutes * 60;
    if (!std::isnan(t.sleep_interval)) o.sleep_interval = t.sleep_interval;
    return std::nullopt;
}

}  // namespace sluice
