// SPDX-License-Identifier: LGPL-3.0-or-later
// gang_hub: where jobs that run at the same time meet and exchange data (seed 000, co-scheduling). Has no counterpart
// upstream.
#include <csignal>
#include <optional>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/gang_hub/hub_server.h"
#include "daemons/gang_hub/missed_members.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

constexpr const char* kDescription =
    "A gang is a set of jobs that run at the same time and exchange data (sluice_batch submit --gang_size). "
    "Volunteers' computers cannot connect to each other. So the members connect to this program, at the address of "
    "<gang_hub> in config.xml. It brings the members of a gang together and hands on their messages. It knows the "
    "last checkpoint that all have; if a member is lost, all go on from there. A token, which is part of its job, "
    "proves each member. The protocol: docs/gangs.md.";

struct HubOptions {
    std::optional<int> port;
    std::string listen;
    HubLimits limits;
    std::int64_t line = static_cast<std::int64_t>(HubLimits{}.line),
                 queue = static_cast<std::int64_t>(HubLimits{}.queue);
};

void define_hub_options(CommandLine& line, HubOptions& o) {
    line.option("--port", o.port, "the port to listen on; default: that of <gang_hub>");
    line.option("--listen", o.listen, "the address of this host to listen on; default: all of them", "ADDRESS");
    line.option("--max_connections", o.limits.connections, "members at most; default 1000");
    line.option("--max_line", o.line, "bytes of a line at most; default 65536");
    line.option("--max_queue", o.queue, "bytes that wait for a member who reads slowly, at most; default 262144");
    line.option("--hello_time", o.limits.hello_time, "seconds in which a connection must say who it is; default 10");
    line.option("--silence", o.limits.silence, "seconds after which a member that says nothing is gone; default 120");
    line.option("--wait", o.limits.wait, "seconds that members wait for the last of their gang; default 300");
    line.option("--absent", o.limits.absent,
                "seconds after which a member that was there and does not come again is given up; default 120");
    line.section("EXAMPLES",
                 "In config.xml:\n<gang_hub>project.example.org:8077</gang_hub>\n<daemon><cmd>gang_hub</cmd></daemon>");
}

std::string check_hub_options(HubOptions& o) {
    if (o.port && (*o.port < 0 || *o.port > 65535)) return "--port: a number from 0 to 65535; 0: any that is free";
    if (o.limits.connections < 2 || o.limits.connections > 100'000)
        return "--max_connections: a number from 2 to 100000";
    if (o.line < 64 || o.line > 16 << 20) return "--max_line: a number of bytes from 64 to 16777216";
    if (o.queue < o.line || o.queue > 1 << 30) return "--max_queue: a number of bytes from --max_line to 1073741824";
    for (const double seconds : {o.limits.hello_time, o.limits.silence, o.limits.wait, o.limits.absent})
        if (!(seconds >= 1 && seconds <= 1e6))
            return "--hello_time, --silence, --wait and --absent: from 1 to 1000000 seconds";
    o.limits.line = static_cast<std::size_t>(o.line);
    o.limits.queue = static_cast<std::size_t>(o.queue);
    return "";
}

constexpr std::size_t kQuestionsOfALink = 2;  ///< may it come in, and has its gang ended

class StoredGangs final : public GangDirectory {
  public:
    StoredGangs(GangStore& store, BatchPlanStore& plans, const Clock& clock)
        : store_(store), plans_(plans), clock_(clock) {}
    std::optional<GangFacts> find(const GangId& gang) override { return store_.find(gang); }
    std::vector<SeatInstance> instances(const GangSeat& seat) override { return seat_instances(store_, seat); }
    void give_up(const GangId& gang, std::span<const MissedMember> members, bool long_since) override {
        give_up_missed(store_, plans_, gang, members, long_since, clock_.now_sec());
    }
    void end(const GangId& gang) override { store_.end(gang, clock_.now_sec()); }

  private:
    GangStore& store_;
    BatchPlanStore& plans_;
    const Clock& clock_;
};

int run(DaemonStart& start, const HubOptions& o) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    DbSettings settings = db_settings(config);
    settings.interactive = true;  // members that have said HELLO
    Database db(settings);
    if (!o.port && config.gang_hub.empty())
        throw ConfigError("config.xml names no <gang_hub>, and no --port was given: where should gang_hub listen?");
    const int port = o.port ? *o.port : parse_hub_address(config.gang_hub).port;
    const auto store = make_gang_store(db);
    const auto plans = make_batch_plan_store(db);
    StoredGangs gangs(*store, *plans, start.env.clock);
    const MonotonicClock waits;  // members are not silent because somebody has set the clock
    HubServer server({o.listen, port}, o.limits, waits);
    DatabaseQuestions desk(gangs, kQuestionsOfALink * static_cast<std::size_t>(o.limits.connections));
    GangHub hub(desk, server, o.limits, gang_secret(config.key_dir));
    server.serve(hub, desk);
    bool prepared = false;
    return start.loop([&] {
        if (!prepared) {
            store->prepare();
            desk.open();
            log_normal("listening on port {}", server.port());
            prepared = true;
        }
        server.turn(start.settings.one_pass ? 0 : 1);
        return start.settings.one_pass ? TurnResult::kIdle : TurnResult::kWorked;
    });
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    HubOptions options;
    const DaemonProgram program{.summary = "where jobs that run at the same time meet",
                                .description = kDescription,
                                .settings = {.name = "gang_hub", .lock_name = "gang_hub"},
                                .lifetime = Lifetime::kAtOwnPace,
                                .options = [&](CommandLine& line) { define_hub_options(line, options); },
                                .check = [&](DaemonStart&) { return check_hub_options(options); },
                                .run = [&](DaemonStart& start) { return run(start, options); }};
    return daemon_main(program, argc, argv);
}
