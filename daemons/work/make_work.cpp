// SPDX-License-Identifier: LGPL-3.0-or-later
// make_work: keeps jobs in stock by copying workunits. Upstream's program of that name, same options.
#include <fmt/core.h>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/work/clone.h"
#include "daemons/work/job_supply.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

struct CopyWords {
    std::vector<std::string> names;
    std::int64_t cushion = 300, max_wus = 0;
    bool credit_from_wu = false;
};

/// Throws ConfigError.
std::vector<Workunit> patterns_of(const std::vector<std::string>& names, SupplyStore& store) {
    std::vector<Workunit> patterns;
    for (const std::string& name : names) {
        const auto found = store.workunit_by_name(name);
        if (!found) throw ConfigError("there is no workunit named '" + name + "'");
        if (found->transitioner_flags != TransitionerFlags::kNormal)
            throw ConfigError("workunit '" + name + "' is for certain hosts only: a copy would reach nobody");
        patterns.push_back(*found);
    }
    return patterns;
}

class Copier {
  public:
    Copier(const CopyWords& words, std::vector<Workunit> patterns, WorkStore& store, const DaemonStart& start,
           std::int64_t second)
        : words_(words), patterns_(std::move(patterns)), store_(store), clock_(start.env.clock), start_(second) {}

    Id copy(std::int64_t results, std::int64_t most) {
        std::vector<Workunit> copies;
        for (std::int64_t made = 0; copies.empty() || (made < results && std::ssize(copies) < most);) {
            const std::string mark = fmt::format("{}_{}", start_, sequence_);
            copies.push_back(clone_of(patterns_[sequence_++ % patterns_.size()],
                                      {"wu_" + mark, "__" + mark, words_.credit_from_wu, clock_.now_sec()}));
            made += std::max(copies.back().target_nresults, 1);
            const std::string why = store_.xml_too_long(JobDocument::kWorkunit, copies.back().xml_doc.size());
            if (!why.empty()) throw ConfigError("the XML of a copy: " + why);
        }
        const std::vector<JobRows> rows(copies.size());
        store_.insert(copies, rows);
        log_normal("{} workunits made", copies.size());
        return copies.back().id;
    }

  private:
    const CopyWords& words_;
    std::vector<Workunit> patterns_;
    WorkStore& store_;
    Clock& clock_;
    std::int64_t start_;
    std::size_t sequence_ = 0;
};

void define_copy_options(CommandLine& line, CopyWords& w) {
    line.repeatable("--wu_name", w.names, "the workunit to copy (required); of several, each in turn", "NAME");
    line.option("--cushion", w.cushion, "copy while at most so many results are unsent; default 300");
    line.option("--max_wus", w.max_wus, "end when the project has so many workunits, of all apps");
    line.flag("--credit_from_wu", w.credit_from_wu, "copies keep the workunit's canonical_credit");
    line.section("EXIT STATUS",
                 "0: stopped, the pass is done, or --max_wus is reached. 1: no such workunit, or an error.");
}

std::string problem_of_copies(const CopyWords& w) {
    if (w.names.empty()) return "--wu_name is required";
    if (w.cushion < 0 || w.cushion > 10000000) return "--cushion is a number from 0 to 10000000";
    if (w.max_wus < 0) return "--max_wus must not be negative";
    return "";
}

int run_copier(const CopyWords& words, DaemonStart& start) {
    DbSettings settings = db_settings(load_config_and_warn(start.settings.project));
    settings.read_only = start.dry_run;
    Database db(settings);
    const auto supply = make_supply_store(db);
    const auto work = make_work_store(db);
    std::vector<Workunit> patterns = patterns_of(words.names, *supply);
    const StockRule rule{.appid = patterns[0].appid,
                         .low = words.cushion,
                         .fill = words.cushion,
                         .max_workunits = words.max_wus,
                         .dry_run = start.dry_run,
                         .interval = start.settings.sleep_interval};
    const std::int64_t second = unused_start(*supply, "wu_", start.env.clock.now_sec());
    Copier copier(words, std::move(patterns), *work, start, second);
    JobSupply service(rule, *supply,
                      [&](std::int64_t results, std::int64_t most) { return copier.copy(results, most); });
    return start.run(service);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    CopyWords words;
    const DaemonProgram program{
        .summary = "keep jobs in stock by copying workunits",
        .description =
            "For tests of a project and its clients. While few results of the app are unsent, it makes copies of workunits. "
            "Hosts fetch the input files anew for each copy, from the place where they are. The files must stay there: put "
            "nodelete into the name of the workunit that is copied, or <no_delete/> into its template.",
        .settings = {.name = "make_work", .sleep_interval = 10},
        .has_dry_run = true,
        .options = [&](CommandLine& line) { define_copy_options(line, words); },
        .check = [&](DaemonStart&) { return problem_of_copies(words); },
        .run = [&](DaemonStart& start) { return run_copier(words, start); }};
    return daemon_main(program, argc, argv);
}
