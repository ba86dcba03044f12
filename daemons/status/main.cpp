// SPDX-License-Identifier: LGPL-3.0-or-later
// status_page: what a project is doing, as pages and for monitoring. Stands for upstream's page server_status.php.
#include <filesystem>
#include <string>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/status/exporter.h"
#include "daemons/status/status_service.h"
#include "daemons/status/surveyor.h"
#include "sched/handle/decision.h"
#include "sluice/daemon/program.h"

namespace {

using namespace sluice;

struct Options {
    std::string listen, textfile, pages, admins_page;
    bool per_user = false;
};

void define_options(CommandLine& line, Options& options) {
    line.option(
        "--pages", options.pages,
        "write status.html and server_status.xml into this folder, for everybody; default html/user; none: no pages",
        "FOLDER");
    line.option("--admins_page", options.admins_page,
                "write status.html for admins into this folder, which the web server shows to nobody else; default "
                "html/ops; none: no such page",
                "FOLDER");
    line.option("--listen", options.listen,
                "hand out metrics for Prometheus at http://127.0.0.1:PORT/metrics, to programs of this machine only",
                "PORT");
    line.option(
        "--textfile", options.textfile,
        "write the metrics to this file after each turn, for node_exporter's textfile collector; its name ends in .prom",
        "FILE");
    line.flag("--per_user", options.per_user, "metrics of shares with the ids of users");
    line.section("EXAMPLES", "As a daemon of config.xml:\n<daemon><cmd>status_page --listen 9188</cmd></daemon>");
    line.section("FILES",
                 "PROJECT/html/user/status.html: the page for everybody.\n"
                 "PROJECT/html/user/server_status.xml: the fields of the original server's server_status.php?xml=1.\n"
                 "PROJECT/html/ops/status.html: the page for admins.\n"
                 "PROJECT/log_HOST/status_history: a sample every five minutes, for a week.\n"
                 "PROJECT/log_HOST/metrics: the counts of each program, which this program reads.");
}

std::string check(Options& options) {
    if (!options.listen.empty() && (options.listen = loopback_address(options.listen)).empty())
        return "--listen: a port from 1 to 65535, or 127.0.0.1:PORT or [::1]:PORT; a web server can hand it on to others";
    if (!options.textfile.empty() && std::filesystem::path(options.textfile).extension() != ".prom")
        return "--textfile: a name that ends in .prom, which node_exporter looks for";
    return "";
}

int run(DaemonStart& start, const Options& options) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    DbSettings settings = db_settings(config);
    settings.read_uncommitted = true;
    settings.read_only = true;
    Database db(settings);
    ExpositionWords words{{}, options.per_user};
    for (const SearchInfo& info : search_infos()) words.searches.emplace_back(info.name);
    Exporter exporter(start.settings.project, std::move(words));
    if (!options.listen.empty()) exporter.listen(options.listen);
    Surveyor surveyor(config, db);
    const auto place = [&](const std::string& name, const char* usual) {
        // A project without web pages has none of the usual folders.
        if (name.empty() && fs::is_directory(start.settings.project / usual)) return start.settings.project / usual;
        return name.empty() || name == "none" ? fs::path() : start.settings.project / name;
    };
    const fs::path textfile = options.textfile.empty() ? fs::path() : start.settings.project / options.textfile;
    StatusService service({start.settings.sleep_interval, start.settings.project, textfile,
                           place(options.pages, "html/user"), place(options.admins_page, "html/ops")},
                          surveyor, exporter, start.env.clock);
    return start.run(service);
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    const DaemonProgram program{
        .summary = "write a project's status page, and metrics for monitoring",
        .description =
            "Once a minute it reads how much work waits, the job array, batches, and which daemons run. With the counts "
            "that all programs keep it writes a page for everybody, one for admins, and metrics for Prometheus. Its "
            "statements are small, and it writes nothing into the database. It goes on while the database is away, and "
            "says so. See docs/status_page.md and docs/metrics.md.",
        .settings = {.name = "status_page", .sleep_interval = 60, .lock_name = "status_page"},
        .options = [&](CommandLine& line) { define_options(line, options); },
        .check = [&](DaemonStart&) { return check(options); },
        .run = [&](DaemonStart& start) { return run(start, options); }};
    return daemon_main(program, argc, argv);
}
