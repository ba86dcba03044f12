// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/missing_daemons.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "config/options/enabled_commands.h"
#include "config/run/command_words.h"

namespace sluice {
namespace {

/// It runs the daemons of batches that options enable.
constexpr std::string_view kJoint = "batches";

/// Also behind another program (nice, a path). What only shows its decisions does not carry them out.
bool runs(const std::vector<std::string>& words, std::string_view program) {
    const auto is = [&](const std::string& word) { return program_name({word}) == program; };
    const auto only_shows = [](const std::string& word) {
        return word.ends_with("-dry_run") || word.ends_with("-explain");
    };
    return std::ranges::any_of(words, is) && std::ranges::none_of(words, only_shows);
}

}  // namespace

std::vector<std::string> missing_daemons(const ProjectConfig& config, const DataForDaemons& data,
                                         const DaemonsAndTasks& entries) {
    const bool owned = config.gives_an_owner_to_jobs_without_batch();
    const bool shares = (data.batches || owned) && config.share_rule != ShareOrder::kOff;
    const bool plans = data.batches && config.plan_batches;
    const bool gangs = data.gangs || !config.gang_hub.empty();
    struct Need {
        std::string_view program, why, without;
        bool needed;
        std::string_view joint = {};  ///< another program that does its work
    };
    const Need needs[] = {
        {"batch_upkeep", "there are batches", "counts of batches are late and finished batches stay open",
         data.batches && (shares || plans), kJoint},
        {"batch_shares",
         data.batches ? "<share_rule> is on and there are batches" : "<jobs_without_batch> names a user",
         "streams are not charged, and batches that other programs make have no place in the order", shares, kJoint},
        {"batch_planner", "<plan_batches> is on and there are batches", "no batch is planned", plans, kJoint},
        {"gang_planner", data.gangs ? "there are gangs" : "<gang_hub> is set", "no job of a gang is ever sent", gangs,
         config.gang_hub.empty() ? "" : kJoint},
        {"gang_hub", data.gangs ? "there are gangs" : "<gang_hub> is set", "members of a gang can't meet", gangs},
    };
    const auto commands = enabled_commands(entries);
    std::vector<std::string> lines;
    for (const Need& need : needs) {
        const auto has_it = [&](const auto& words) {
            return runs(words, need.program) || (!need.joint.empty() && runs(words, need.joint));
        };
        if (!need.needed || std::ranges::any_of(commands, has_it)) continue;
        lines.push_back(
            fmt::format("{}, but {} is not among the <daemons>: {} (unless something else runs it); add "
                        "<daemon><cmd>{}</cmd></daemon> to the <daemons> of config.xml",
                        need.why, need.program, need.without, need.joint.empty() ? need.program : need.joint));
    }
    return lines;
}

}  // namespace sluice
