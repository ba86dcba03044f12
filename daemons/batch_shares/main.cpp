// batch_shares: keeps the order of users' batches by their quotas (seed 000) while batches come and results come in.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/batch_shares/share_config.h"
#include "daemons/batch_shares/shares_pass.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

constexpr const char* kDescription =
    "For each batch in progress whose user has a quota (user_submit): its logical start and end time, by the rule of "
    "<share_rule>; jobs of the batch with the least logical end time go first. Batches of sluice_batch have theirs when they "
    "are submitted; others (create_work --batch, web pages) get them here. With rule settled, what was measured takes the "
    "place of what was estimated, errors and extra instances included. Without a quota a batch comes after all others.";

int run(DaemonStart& start) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    const auto settings = share_settings(config);
    if (!settings) {
        log_critical("<share_rule> is off: set it to settled or seed in config.xml, or take batch_shares out of it");
        return 1;
    }
    Database db(db_settings(config));
    const auto store = make_share_store(db);
    return start.loop([&] {
        // At level 1 the feeder looks by itself.
        if (shares_pass(*store, *settings, start.env.clock).any() && config.compat_level == 0)
            write_file_atomically(start.settings.project / "reread_db", "<reread_db/>\n");
        return PassResult::kIdle;
    });
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    const DaemonProgram program{
        .summary = "keep the order of batches by their users' shares",
        .description = kDescription,
        .settings = {.name = "batch_shares", .sleep_interval = 300, .lock_name = "batch_shares"},
        .options =
            [](CommandLine& line) {
                line.section("EXAMPLES", "As a daemon of config.xml:\n<daemon><cmd>batch_shares</cmd></daemon>");
            },
        .run = [](DaemonStart& start) { return run(start); }};
    return daemon_main(program, argc, argv);
}
