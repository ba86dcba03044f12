// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Facts for tests of the plan, built up by chained calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemons/transitioner/plan.h"
#include "sluice/model/job.h"

namespace sluice::test {

inline constexpr std::int64_t kNow = 1'700'000'000;

struct AWorkunit {
    TransitionFacts facts;
    TransitionParams params;

    AWorkunit() {
        Workunit& wu = facts.wu;
        wu.id = 7, wu.name = "wu", wu.appid = 3, wu.transition_time = kNow - 5, wu.delay_bound = 1000;
        wu.min_quorum = 1, wu.target_nresults = 1, wu.max_error_results = 3, wu.max_total_results = 5;
        wu.max_success_results = 5, wu.result_template_file = "templates/out";
    }
    AWorkunit& quorum(int n) {
        facts.wu.min_quorum = facts.wu.target_nresults = n;
        return *this;
    }
    AWorkunit& canonical(Id id) {
        facts.wu.canonical_resultid = id;
        return *this;
    }
    AWorkunit& assimilated() {
        facts.wu.assimilate_state = AssimilateState::kDone;
        return *this;
    }
    ResultFacts& add(ServerState state, Outcome outcome = Outcome::kInit) {
        ResultFacts r;
        r.id = 100 + static_cast<Id>(facts.results.size());
        r.server_state = state, r.outcome = outcome, r.suffix = static_cast<std::int64_t>(facts.results.size());
        facts.results.push_back(r);
        return facts.results.back();
    }
    AWorkunit& unsent() { return add(ServerState::kUnsent), *this; }
    AWorkunit& inactive() { return add(ServerState::kInactive), *this; }
    AWorkunit& in_progress(std::int64_t deadline) {
        ResultFacts& r = add(ServerState::kInProgress);
        r.report_deadline = deadline, r.hostid = 11, r.app_version_id = 21;
        return *this;
    }
    AWorkunit& over(Outcome outcome) { return add(ServerState::kOver, outcome), *this; }
    AWorkunit& success(ValidateState state = ValidateState::kInit, std::int64_t received = kNow - 100) {
        ResultFacts& r = add(ServerState::kOver, Outcome::kSuccess);
        r.validate_state = state, r.received_time = received;
        return *this;
    }
    AWorkunit& error(int exit_status = 1) {
        ResultFacts& r = add(ServerState::kOver, Outcome::kClientError);
        r.exit_status = exit_status, r.validate_state = ValidateState::kInvalid, r.received_time = kNow - 100;
        return *this;
    }
    TransitionPlan plan() const { return plan_transition(facts, params, kNow); }
    /// What becomes of result `index`: its change, or its present state.
    ResultChange after(std::size_t index) const {
        const ResultFacts& was = facts.results.at(index);
        for (const ResultChange& c : plan().results)
            if (c.was.id == was.id) return c;
        return {was, was.server_state, was.outcome, was.validate_state, was.file_delete_state};
    }
};

/// "server_state/outcome" of a result after the plan.
inline std::string state_of(const AWorkunit& wu, std::size_t index) {
    const ResultChange c = wu.after(index);
    return std::to_string(static_cast<int>(c.server_state)) + "/" + std::to_string(static_cast<int>(c.outcome));
}

}  // namespace sluice::test
