// SPDX-License-Identifier: LGPL-3.0-or-later
// adjust_user_priority: charges a user's logical start time for work and prints it (upstream's program of that name,
// which its web pages call when jobs are submitted).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/batches/shares.h"
#include "daemons/batches/shares_plan.h"
#include "sluice/base/clock.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/daemon/program.h"
#include "sluice/db/batch_store.h"
#include "sluice/db/share_store.h"
#include "sluice/db/work_store.h"

namespace sluice {
namespace {

struct PriorityArguments {
    std::optional<Id> user;
    double flops = 0;
    std::string app;
    bool no_update = false;
};

/// R / share(U); 0 as long as the project has no speed or nobody a quota. With shares, R is at most `most`, like a
/// batch's. An estimate of 1e300 would move all users' times to where differences are lost.
double charge(double flops, double project_flops, double most, const UserQuota& q, Id user) {
    if (q.total == 0 || project_flops == 0) return 0;
    if (!(q.quota > 0))
        throw ConfigError(fmt::format(
            "user {0} has quota {1:g}: sluice_batch quota --user {0} --set 1 gives one above 0", user, q.quota));
    return std::min(flops / project_flops, most) / (q.quota / q.total);
}

int run(const PriorityArguments& call) {
    const ProjectConfig config = load_config_and_warn(find_project_dir());
    Database db(db_settings(config));
    const auto app = make_work_store(db)->app_by_name(call.app);
    if (!app) throw ConfigError("no such app '" + in_one_line(call.app) + "': bin/xadd adds those of project.xml");
    if (!make_batch_owner_store(db)->user_name(*call.user))
        throw ConfigError(fmt::format("no such user {}: --user takes the number of an account", *call.user));
    const auto store = make_share_store(db);
    const auto quota = store->quota(*call.user);
    if (!quota)
        throw ConfigError(
            fmt::format("user {} may not submit: the web pages (manage_project) admit users", *call.user));
    const double now = SystemClock().now();
    // Corrects what the app's estimates are wrong by on the whole.
    const double flops = app->min_avg_pfc != 0 ? call.flops * app->min_avg_pfc : call.flops;
    const double most = share_settings(config) ? kMostSeconds : HUGE_VAL;
    const double delta = charge(flops, store->project_speed(now).flops, most, *quota, *call.user);
    if (!std::isfinite(delta)) throw ConfigError(fmt::format("--flops {:g} is too much to be charged", call.flops));
    fmt::print("{:.6f}\n", store->advance(*call.user, now, delta, !call.no_update));
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    PriorityArguments call;
    CommandLine line(
        "adjust_user_priority", "charge a user for computing",
        "Adds a charge to the user's logical start time, which is the present at least, and prints it. The charge is "
        "the time that the whole project needs for --flops, divided by the user's share (his quota by all quotas). "
        "The project's speed is that of the last 30 days' credit.");
    line.flag("--no_update", call.no_update, "print it, but store nothing");
    line.id_option("--user", call.user, "the user");
    line.amount_option("--flops", call.flops, "floating-point operations, more than 0");
    line.option("--app", call.app, "short name of the app that does them", "NAME");
    line.section("EXIT STATUS", "0: printed. 1: anything else; standard error says what.");
    if (const auto status = line.parse(argc, argv)) return *status;
    if (call.app.empty()) return line.fail("missing --app");
    if (!call.user) return line.fail("missing --user");
    if (!(call.flops > 0) || !std::isfinite(call.flops)) return line.fail("missing --flops: a number above 0");
    return tool_main({"adjust_user_priority"}, [&] {
        log_open({});
        return run(call);
    });
}
