// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Judges what is known of a project. Pure.
#include <string>
#include <vector>

#include "sched/health/facts.h"

namespace sluice {

enum class Health { kWell, kDegraded, kBroken };
const char* health_word(Health health);

/// One line for the admin. Every check is there, also if all is well with it.
struct HealthCheck {
    std::string id;  ///< "daemons"; docs/health.md has a row for each
    Health health = Health::kWell;
    std::string says;    ///< a sentence
    std::string remedy;  ///< the first thing to do; empty if it is well
};

std::vector<HealthCheck> judge_health(const HealthFacts& facts);
Health worst_of(const std::vector<HealthCheck>& checks);

}  // namespace sluice
