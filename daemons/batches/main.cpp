// SPDX-License-Identifier: LGPL-3.0-or-later
// batches, and the programs that it consists of: one binary with many names. It runs as the name that it is called by.
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/batches/batches.h"
#include "daemons/batches/programs.h"
#include "sluice/base/error.h"
#include "sluice/base/life_sign.h"
#include "sluice/base/log.h"
#include "sluice/db/tables_version.h"

namespace sluice {
namespace {

constexpr const char* kDescription =
    "Everything that a project's batches need, in one daemon. In this order: batch_upkeep keeps counts and states. "
    "batch_watch warns of batches that are slow, late or fail; it runs at compat_level 1, or if a <batch_event_...> option or "
    "<batch_stop_failing> is set. "
    "batch_shares keeps the order of users' batches; it runs if <share_rule> is on. batch_planner plans when batches can be "
    "done; it runs if <plan_batches> is on. gang_planner gathers hosts for gangs; it runs if <gang_hub> is set. batch_accel "
    "speeds up the last jobs of a batch, once an hour; it runs at compat_level 1, or if <batch_accel> is on.\n\n"
    "Each of them is a program of its own, too; its manual page says what it does. If that program runs, this one leaves the "
    "work to it. If one of them fails, the others go on. Its name heads its lines in the log.";

int run_alone(BatchProgram& program, DaemonStart& start) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    Database db(db_settings(config));
    const auto batches = make_batch_upkeep_store(db);
    TriggerNotices notices(start.settings.project);
    Service& service = program.service({config, db, *batches, notices, start.env.clock, start.settings.sleep_interval,
                                        start.dry_run, start.settings.one_pass});
    PreparedService turns(service, [&db] { require_known_tables(db); });
    return program.answered() ? 0 : start.run(turns);
}

int alone(BatchProgram& program, int argc, char** argv) {
    DaemonProgram daemon = program.program();
    daemon.options = [&](CommandLine& line) { program.define(line), program.define_alone(line); };
    daemon.check = [&](DaemonStart& start) { return program.settle(start), program.check(); };
    daemon.run = [&](DaemonStart& start) { return run_alone(program, start); };
    return daemon_main(daemon, argc, argv);
}

/// A service that could not be made, since something in config.xml or in a file does not fit: it is tried again at each
/// turn, and the others go on.
class LateService final : public Service {
  public:
    LateService(double interval, std::function<Service&()> make) : Service(interval), make_(std::move(make)) {}
    Turn turn() override {
        if (service_ == nullptr) service_ = &make_();
        return service_->turn();
    }

  private:
    std::function<Service&()> make_;
    Service* service_ = nullptr;
};

int run_together(const std::vector<std::unique_ptr<BatchProgram>>& programs, DaemonStart& start) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    DbSettings settings = db_settings(config);
    settings.turn_comes_again = !start.settings.one_pass;
    Database db(settings);
    const auto store = make_batch_upkeep_store(db);
    BatchesOfTurn batches(*store);
    TriggerNotices triggers(start.settings.project);
    BufferedNotices notices(triggers);
    std::vector<BatchPart> parts;
    std::deque<LateService> late;
    std::string names;
    for (const auto& program : programs) {
        if (!program->enabled(config)) continue;
        const DaemonProgram daemon = program->program();
        const auto make = [&, interval = daemon.settings.sleep_interval, p = program.get()]() -> Service& {
            return p->service(
                {config, db, batches, notices, start.env.clock, interval, start.dry_run, start.settings.one_pass});
        };
        const auto now_or_later = [&]() -> Service& {
            try {
                return make();
            } catch (const ConfigError&) {  // said in its turn
            } catch (const FileError&) {    // this, too
            }
            return late.emplace_back(daemon.settings.sleep_interval, make);
        };
        BatchPart part{daemon.settings.name, now_or_later()};
        if (!start.settings.one_pass)
            part.life = std::make_shared<LifeSignWriter>(start.settings.project, part.name, start.env.clock);
        if (!start.dry_run)
            part.lock = [&start, name = daemon.settings.lock_name] {
                return try_program_lock(start.settings.project, name);
            };
        part.lock_for_a_turn = daemon.lifetime == Lifetime::kOnce;
        names += (names.empty() ? "" : ", ") + part.name;
        parts.push_back(std::move(part));
    }
    log_normal("Running {}", names);
    BatchesService service(std::move(parts), batches, notices, start.env.clock, start.settings.one_pass,
                           [&db] { return db.connected(); });
    PreparedService turns(service, [&db] { require_known_tables(db); });
    return start.run(turns);
}

int together(int argc, char** argv) {
    const auto programs = batch_programs();
    const auto define = [&](CommandLine& line) {
        for (const auto& program : programs) program->define(line);
        line.section("EXAMPLES",
                     "As a daemon of config.xml:\n<daemon><cmd>batches</cmd></daemon>\n\n"
                     "What would each of them do now?\nbatches --dry_run");
    };
    const auto check = [&](DaemonStart&) {
        std::string wrong;
        for (const auto& program : programs)
            if (wrong.empty()) wrong = program->check();
        return wrong;
    };
    const DaemonProgram daemon{.summary = "keep counts, order, plans and last jobs of batches",
                               .description = kDescription,
                               .settings = {.name = "batches", .lock_name = "batches"},
                               .lifetime = Lifetime::kAtOwnPace,
                               .has_dry_run = true,
                               .options = define,
                               .check = check,
                               .run = [&](DaemonStart& start) { return run_together(programs, start); }};
    return daemon_main(daemon, argc, argv);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    const std::string name = std::filesystem::path(argc > 0 ? argv[0] : "").filename().string();
    for (const auto& program : batch_programs())
        if (program->program().settings.name == name) return alone(*program, argc, argv);
    if (const auto stats = batch_stats_program(); stats->program().settings.name == name)
        return alone(*stats, argc, argv);
    return together(argc, argv);
}
