// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice_tune: what other N, M and score weights would cost and bring, on the live job array. Has no counterpart
// upstream.
#include <algorithm>
#include <cstdio>

#include "sched/tune/tuner.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/daemon/program.h"
#include "sluice/match/policies.h"

namespace sluice {
namespace {

constexpr const char* kDescription =
    "Decides requests as the scheduler would, on the live job array. It does so for each set of weights, and for each "
    "N and M (<mm_min_slots>, <mm_max_slots>) of a grid. It prints how many points a sent job loses against a full "
    "scan, slots looked at, slots locked, replies without a job, and the time of a decision. It "
    "claims nothing and writes nothing.\n\n"
    "The requests are recorded (<debug_req_reply_dir>), from the decision log, from hosts of the database, or made "
    "up. All that are given are decided.";

constexpr std::int64_t kMostRequests = 100000;

struct TuneArguments {
    RequestSources sources;
    TuneGrid grid;
    std::string hosts, min_slots, max_slots, config_file;
    std::vector<std::string> weights;
    std::int64_t made_up = 0, repeat = 1, at_once = 1, seed = 1;
    bool json = false;
};

void define_options(CommandLine& line, TuneArguments& t) {
    line.repeatable("--requests", t.sources.recorded,
                    "a recorded request, or a folder of them (<debug_req_reply_dir>); may be given many times", "PATH");
    line.repeatable("--decisions", t.sources.decisions,
                    "a file of the decision log: its hosts ask again for what they asked for; may be given many times",
                    "FILE");
    line.option("--hosts", t.hosts, "these hosts of the database ask", "ID,ID,...");
    line.option("--synthesise", t.made_up, "so many made-up hosts of the project's platforms ask", "COUNT");
    line.option(
        "--seconds", t.sources.seconds,
        "known and made-up hosts ask for so much work for each processor (default: a day; made-up ones up to one)");
    line.option("--min_slots", t.min_slots,
                "values of N to try; 0: no bound (default 0,50,100,200,500,1000 and the configured one)", "N,N,...");
    line.option("--max_slots", t.max_slots, "values of M to try; 0: no bound (default: the configured one)", "N,N,...");
    line.repeatable("--weights", t.weights,
                    "values to try for the weight of a score term; given for several terms: each with each",
                    "TERM=X,X,...");
    line.option("--config", t.config_file, "decide by this file instead of PROJECT/config.xml", "FILE");
    line.option(
        "--at_once", t.at_once,
        "so many requests are decided at the same time: each finds locked what the others would get (default 1)");
    line.option("--repeat", t.repeat, "decide each request so often, each time from another slot on (default 1)");
    line.option("--seed", t.seed, "of made-up hosts and of the slots that scans begin at (default 1)");
    line.flag("--json", t.json, "one JSON document");
    line.section("EXIT STATUS",
                 "0: printed. 1: it can't be measured; the reason is on standard error. 2: wrong command line.");
    line.section(
        "EXAMPLES",
        "sluice_tune --synthesise 300 --at_once 8\n"
        "sluice_tune --requests req_reply/ --min_slots 0,100,1000 --max_slots 0,2000 --repeat 5\n"
        "sluice_tune --decisions log_HOST/decisions/decisions_2026-01-31.jsonl --weights size_class=0,5,10 --json");
}

/// "0,50,100"; nullopt: no such list.
template <typename T, typename Parse>
std::optional<std::vector<T>> numbers_of(const std::string& text, double least, double most, Parse parse) {
    std::vector<T> numbers;
    for (const std::string_view word : split(text, ',')) {
        const auto n = parse(trim(word));
        if (trim(word).empty() || !n || *n < least || *n > most) return std::nullopt;
        numbers.push_back(static_cast<T>(*n));
    }
    return numbers;
}
std::optional<std::vector<int>> slots_of(const std::string& text) {
    return numbers_of<int>(text, 0, 2147483647, [](std::string_view word) { return parse_int(word); });
}

/// Each value of this term with each set that is there already. "" or what is wrong.
std::string add_weights(const std::string& given, std::vector<Weights>& sets) {
    const std::size_t mark = given.find('=');
    const std::string name = given.substr(0, mark);
    const auto terms = score_term_names();
    if (std::find(terms.begin(), terms.end(), name) == terms.end()) {
        std::string all;
        for (const std::string_view term : terms) all += (all.empty() ? "" : ", ") + std::string(term);
        return "--weights " + given + ": there is no such term; the terms are " + all;
    }
    const auto values = numbers_of<double>(mark == std::string::npos ? "" : given.substr(mark + 1), -1e9, 1e9,
                                           [](std::string_view word) { return parse_double(word); });
    if (!values) return "--weights " + given + ": must be TERM=X,X,... with numbers";
    std::vector<Weights> more;
    for (const Weights& set : sets)
        for (const double value : *values) (more.emplace_back(set))[name] = value;
    sets = std::move(more);
    return "";
}

/// "" or what is wrong.
std::string check(TuneArguments& t) {
    if (t.made_up < 0 || t.made_up > kMostRequests) return "--synthesise is a number from 1 to 100000";
    if (t.repeat < 1 || t.repeat > 1000) return "--repeat is a number from 1 to 1000";
    if (t.at_once < 1 || t.at_once > 1000) return "--at_once is a number from 1 to 1000";
    if (t.sources.seconds < 0) return "--seconds must be positive";
    t.sources.made_up = static_cast<int>(t.made_up);
    t.sources.seed = t.grid.seed = static_cast<std::uint64_t>(t.seed);
    t.grid.repeat = static_cast<int>(t.repeat);
    t.grid.at_once = static_cast<int>(t.at_once);
    if (!t.hosts.empty()) {
        const auto ids = slots_of(t.hosts);
        if (!ids || *std::min_element(ids->begin(), ids->end()) == 0) return "--hosts is a list of ids: 17,18";
        t.sources.hosts.assign(ids->begin(), ids->end());
    }
    for (const auto& [name, text, target] : {std::tuple{"--min_slots", &t.min_slots, &t.grid.min_slots},
                                             {"--max_slots", &t.max_slots, &t.grid.max_slots}}) {
        if (text->empty()) continue;
        const auto slots = slots_of(*text);
        if (!slots) return std::string(name) + " is a list of whole numbers, 0 and more: 0,100,500";
        *target = *slots;
    }
    for (const std::string& given : t.weights)
        if (const std::string wrong = add_weights(given, t.grid.weights); !wrong.empty()) return wrong;
    if (!t.sources.any()) return "say which requests: --requests, --decisions, --hosts or --synthesise";
    return "";
}

/// What was not given.
void fill_in(const LiveProject& project, TuneGrid& grid) {
    if (grid.max_slots.empty()) grid.max_slots = {project.params.mm_max_slots};
    if (!grid.min_slots.empty()) return;
    grid.min_slots = {50, 100, 200, 500, 1000, project.params.mm_min_slots};
    std::erase_if(grid.min_slots, [&](int n) { return static_cast<std::uint32_t>(n) >= project.array->size(); });
    grid.min_slots.push_back(0);
    std::sort(grid.min_slots.begin(), grid.min_slots.end());
}

int run(int argc, const char* const* argv) {
    constexpr int kUsage = 2;
    TuneArguments typed;
    CommandLine line("sluice_tune", "measures what other scan bounds and score weights would do", kDescription);
    define_options(line, typed);
    if (const auto status = line.parse(argc, argv)) return *status == 0 ? 0 : kUsage;
    if (const std::string wrong = check(typed); !wrong.empty()) {
        line.fail(wrong);
        return kUsage;
    }
    LogOptions log;
    log.file = "/dev/null";  // what the stages would log is not asked for
    log_open(log);
    LiveProject project(find_project_dir(), {typed.config_file, ""});
    fill_in(project, typed.grid);
    const TuneRequests requests = collect_requests(project, typed.sources);
    const TuneReport report = tune(project, requests, typed.grid);
    std::fputs((typed.json ? tune_json(report) : tune_text(report)).c_str(), stdout);
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    return sluice::tool_main({"sluice_tune"}, [&] { return sluice::run(argc, argv); });
}
