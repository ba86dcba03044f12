// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/transitioner/plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "sluice/model/size_class.h"

namespace sluice {
namespace {

/// A workunit in which nothing is due is looked at again after this, in case an event was lost.
constexpr std::int64_t kLongestRest = 864000;

struct Counts {
    int total = 0, unsent = 0, in_progress = 0, over = 0;
    int success = 0, errors = 0, no_reply = 0, couldnt_send = 0, didnt_need = 0;
    bool new_to_validate = false;
    std::int64_t max_suffix = -1;
};

class Planner {
  public:
    Planner(const TransitionFacts& facts, const TransitionParams& params, std::int64_t now)
        : wu_(facts.wu), params_(params), now_(now) {
        if (const auto sizes = params.typical_sizes.find(wu_.appid);
            sizes != params.typical_sizes.end() && lacks_size_class(facts, params))
            plan_.workunit.size_class = size_class_of(wu_.rsc_fpops_est, sizes->second);
        for (const ResultFacts& r : facts.results) results_.push_back({r, r});
    }

    TransitionPlan plan() {
        count_results();
        if (params_.details)
            detail(
                fmt::format("{} results: unsent {}, in_progress {}, over {} (success {}, error {}, couldnt_send {}, "
                            "no_reply {}, didnt_need {})",
                            n_.total, n_.unsent, n_.in_progress, n_.over, n_.success, n_.errors, n_.couldnt_send,
                            n_.no_reply, n_.didnt_need));
        ask_for_validation();
        note_errors();
        const int wanted = results_wanted();
        if (plan_.workunit.error_mask != 0) {
            give_up();
        } else if (wu_.canonical_resultid != 0) {
            cancel_waiting();
        } else if (wanted > 0 && wu_.transitioner_flags != TransitionerFlags::kNoNewResults) {
            create_results(wanted);
        }
        finish_up();
        if (params_.details) detail(fmt::format("setting transition_time to {}", plan_.workunit.transition_time));
        collect_changes();
        return std::move(plan_);
    }

  private:
    struct Item {
        ResultFacts was, is;
    };

    void count_results();
    void count_over(ResultFacts& r);
    void time_out(ResultFacts& r);
    void ask_for_validation();
    void note_errors();
    int results_wanted();
    void give_up();
    void dont_need(ResultFacts& r);
    void cancel_waiting();
    void create_results(int wanted);
    void finish_up();
    void release_files(bool all_over_and_validated);
    std::int64_t next_transition(std::int64_t deletion_time) const;
    bool files_wait_for(const ResultFacts& r) const;
    void collect_changes();

    bool canonical_files_deleted() const {
        return std::any_of(results_.begin(), results_.end(), [&](const Item& r) {
            return r.is.id == wu_.canonical_resultid && r.is.file_delete_state == FileDeleteState::kDone;
        });
    }
    /// It was not run: nobody's fault. Upstream counts what could not be started in time as an error of the job.
    bool says_nothing(const ResultFacts& r) const {
        return r.exit_status == kExitAbortedViaGui ||
               (params_.forgive_unstarted && r.exit_status == kExitUnstartedLate);
    }
    /// It was given up before its deadline, and nothing was heard of it since.
    bool may_report(const ResultFacts& r) const {
        return over_with(r, Outcome::kNoReply) && r.report_deadline > now_ && r.received_time == 0;
    }
    static bool waiting(const ResultFacts& r) {
        return r.server_state == ServerState::kInactive || r.server_state == ServerState::kUnsent;
    }
    static bool over_with(const ResultFacts& r, Outcome outcome) {
        return r.server_state == ServerState::kOver && r.outcome == outcome;
    }
    void note_error_bit(int bit, const std::string& why) {
        if ((plan_.workunit.error_mask & bit) == 0) note(why);
        plan_.workunit.error_mask |= bit;
    }
    void detail(std::string text) { plan_.details.push_back(std::move(text)); }
    void note(std::string text) { plan_.notes.push_back(std::move(text)); }
    void note(const ResultFacts& r, std::string_view text) {
        note(fmt::format("[RESULT#{} {}_{}] {}", r.id, wu_.name, r.suffix, text));
    }

    const Workunit& wu_;
    const TransitionParams& params_;
    const std::int64_t now_;
    std::vector<Item> results_;
    Counts n_;
    TransitionPlan plan_{{},
                         {},
                         {.id = wu_.id,
                          .need_validate = wu_.need_validate,
                          .error_mask = wu_.error_mask,
                          .assimilate_state = wu_.assimilate_state,
                          .file_delete_state = wu_.file_delete_state,
                          .hr_class = wu_.hr_class,
                          .app_version_id = wu_.app_version_id,
                          .size_class = wu_.size_class},
                         {},
                         {},
                         {}};
};

void Planner::count_results() {
    for (Item& item : results_) {
        ResultFacts& r = item.is;
        ++n_.total;
        n_.max_suffix = std::max(n_.max_suffix, r.suffix);
        switch (r.server_state) {
            case ServerState::kInactive:
            case ServerState::kUnsent: ++n_.unsent; break;
            case ServerState::kInProgress:
                if (r.report_deadline < now_) {
                    time_out(r);
                } else {
                    ++n_.in_progress;
                }
                break;
            case ServerState::kOver:
                ++n_.over;
                count_over(r);
                break;
        }
    }
}

void Planner::time_out(ResultFacts& r) {
    r.server_state = ServerState::kOver;
    r.outcome = Outcome::kNoReply;
    ++n_.over;
    ++n_.no_reply;
    note(r, fmt::format("result timed out ({} < {}) server_state:IN_PROGRESS=>OVER; outcome:NO_REPLY",
                        r.report_deadline, now_));
    if (r.hostid == 0 || r.app_version_id == 0) return;  // nobody's, or of a version that nobody knows
    plan_.timed_out.push_back({.hostid = r.hostid,
                               .generalized_version = generalized_version_id(wu_.appid, r.app_version_id),
                               .turnaround = static_cast<double>(wu_.delay_bound),
                               .daily_quota = params_.daily_result_quota});
}

void Planner::count_over(ResultFacts& r) {
    switch (r.outcome) {
        case Outcome::kSuccess:
            if (r.validate_state == ValidateState::kInit) {
                if (canonical_files_deleted()) {
                    r.validate_state = ValidateState::kTooLate;  // nothing left to compare it with
                    note(r, "validate_state:INIT=>TOO_LATE");
                } else {
                    n_.new_to_validate = true;
                }
            }
            if (r.validate_state != ValidateState::kInvalid) ++n_.success;
            break;
        case Outcome::kClientError:
            // A volunteer who aborted the job says nothing about the job.
            ++(says_nothing(r) ? n_.no_reply : n_.errors);
            break;
        case Outcome::kValidateError: ++n_.errors; break;
        case Outcome::kClientDetached:
        case Outcome::kNoReply: ++n_.no_reply; break;
        case Outcome::kCouldntSend:
            note(r, "result couldn't be sent");
            ++n_.couldnt_send;
            break;
        case Outcome::kDidntNeed: ++n_.didnt_need; break;
        case Outcome::kInit: break;
    }
}

void Planner::ask_for_validation() {
    if (!n_.new_to_validate || n_.success < wu_.min_quorum) return;
    plan_.workunit.need_validate = true;
    note("need_validate:=>true");
}

void Planner::note_errors() {
    if (n_.couldnt_send > 0) plan_.workunit.error_mask |= kWuCouldntSend;
    // Nothing good came of the class of hosts (or the version) to which it is committed: any may try.
    if (n_.errors > 0 && n_.success == 0 && n_.in_progress == 0 && n_.no_reply == 0 && !params_.hr_class_static) {
        plan_.workunit.hr_class = 0;
        plan_.workunit.app_version_id = 0;
    }
    if (n_.errors > wu_.max_error_results)
        note_error_bit(kWuTooManyErrors,
                       fmt::format("WU has too many errors ({} errors for {} results)", n_.errors, n_.total));
}

int Planner::results_wanted() {
    if ((plan_.workunit.error_mask & kWuCancelled) != 0) return 0;  // none: no limit stands in the way
    const int wanted = std::max(0, wu_.target_nresults - n_.unsent - n_.in_progress - n_.success);
    const int allowed = wu_.max_total_results - n_.total;
    if (allowed < 0 || (allowed == 0 && wanted > 0)) {
        // Level 1: what a job with a canonical result still lacks was never going to be made.
        const bool done = params_.compat_level >= 1 && wu_.canonical_resultid != 0;
        if (!done && (plan_.workunit.error_mask & kWuTooManyTotal) == 0)
            note(fmt::format("target_nresults={} nunsent={} ninprogress={} nsuccess={} new_needed={} new_allowed={}",
                             wu_.target_nresults, n_.unsent, n_.in_progress, n_.success, wanted, allowed));
        if (!done) note_error_bit(kWuTooManyTotal, fmt::format("WU has too many total results ({})", n_.total));
        return 0;
    }
    return std::min(wanted, allowed);
}

void Planner::give_up() {
    for (Item& item : results_) {
        ResultFacts& r = item.is;
        if (waiting(r)) {
            dont_need(r);
        } else if (over_with(r, Outcome::kSuccess) &&
                   (r.validate_state == ValidateState::kInit || r.validate_state == ValidateState::kInconclusive)) {
            r.validate_state = ValidateState::kNoCheck;
        }
    }
    if (plan_.workunit.assimilate_state != AssimilateState::kInit) return;
    plan_.workunit.assimilate_state = AssimilateState::kReady;
    note(fmt::format("error_mask:{} assimilate_state:INIT=>READY", plan_.workunit.error_mask));
}

void Planner::dont_need(ResultFacts& r) {
    note(r, fmt::format("server_state:{}=>OVER; outcome:=>DIDNT_NEED",
                        r.server_state == ServerState::kInactive ? "INACTIVE" : "UNSENT"));
    r.server_state = ServerState::kOver;
    r.outcome = Outcome::kDidntNeed;
}

/// The validator cancels what is UNSENT when it finds the canonical result. What it leaves (INACTIVE ones, upstream)
/// or can't see (made at the same time) would keep the workunit from ever being over: no scheduler sends it, and its
/// files are never deleted. Right at both compat levels.
void Planner::cancel_waiting() {
    for (Item& item : results_)
        if (waiting(item.is)) dont_need(item.is);
}

void Planner::create_results(int wanted) {
    note(fmt::format("Generating {} more results ({} target - {} unsent - {} in progress - {} success)", wanted,
                     wu_.target_nresults, n_.unsent, n_.in_progress, n_.success));
    std::int64_t boost = 0;
    if (n_.over > 0) {
        if (params_.priority_on_over != 0) {
            boost = params_.priority_on_over;
        } else if (n_.errors == 0) {
            boost = params_.priority_on_over_except_error;
        }
    }
    // Jobs of a size class wait until size_regulator lets them out (seed 003).
    const int size_class = plan_.workunit.size_class;
    if (size_class != wu_.size_class) note(fmt::format("has no size class: {} by its size", size_class));
    const bool regulated = size_class >= 0 && params_.apps_with_size_classes.contains(wu_.appid);
    plan_.create = {.count = wanted,
                    .first_suffix = n_.max_suffix + 1,
                    .state = regulated ? ServerState::kInactive : ServerState::kUnsent,
                    .priority = wu_.priority + boost,
                    .size_class = size_class};
}

void Planner::finish_up() {
    bool all_over = plan_.create.count == 0, all_over_and_validated = all_over;
    std::int64_t last_received = 0;
    for (const Item& item : results_) {
        const ResultFacts& r = item.is;
        if (r.server_state != ServerState::kOver ||
            (r.outcome == Outcome::kSuccess && r.validate_state == ValidateState::kInit)) {
            all_over = all_over_and_validated = false;
        }
        if (may_report(r)) all_over_and_validated = false;
        last_received = std::max(last_received, r.received_time);
    }
    WorkunitChange& wu = plan_.workunit;
    // The assimilator put it off until everything is over.
    if (all_over && wu.assimilate_state == AssimilateState::kInit && wu_.canonical_resultid > 0) {
        wu.assimilate_state = AssimilateState::kReady;
        note("Deferred assimilation now set to ASSIMILATE_STATE_READY");
    }

    std::int64_t deletion_time = kNever;
    if (wu.assimilate_state == AssimilateState::kDone) {
        if (last_received + params_.delete_delay <= now_) {
            release_files(all_over_and_validated);
        } else {
            deletion_time = last_received + params_.delete_delay;
        }
    }
    wu.transition_time = next_transition(deletion_time);
}

void Planner::release_files(bool all_over_and_validated) {
    WorkunitChange& wu = plan_.workunit;
    if (all_over_and_validated && wu.file_delete_state == FileDeleteState::kInit)
        wu.file_delete_state = FileDeleteState::kReady;
    for (Item& item : results_) {
        ResultFacts& r = item.is;
        if (r.file_delete_state != FileDeleteState::kInit || r.server_state != ServerState::kOver) continue;
        // Later results are compared with the canonical one.
        if (r.id == wu_.canonical_resultid && !all_over_and_validated) continue;
        const bool has_files = r.outcome == Outcome::kClientError ||
                               (r.outcome == Outcome::kSuccess && r.validate_state != ValidateState::kInit) ||
                               (r.outcome == Outcome::kValidateError && params_.compat_level >= 1);
        if (!has_files) continue;
        r.file_delete_state = FileDeleteState::kReady;
        note(r, "file_delete_state:=>READY");
    }
}

/// finish_up() keeps them for a late report; nothing else may happen at its deadline. An assimilator that is still to
/// come makes the workunit due itself.
bool Planner::files_wait_for(const ResultFacts& r) const {
    const WorkunitChange& wu = plan_.workunit;
    return may_report(r) && wu.assimilate_state == AssimilateState::kDone &&
           wu.file_delete_state == FileDeleteState::kInit;
}

std::int64_t Planner::next_transition(std::int64_t deletion_time) const {
    const bool settled = wu_.canonical_resultid != 0 || plan_.workunit.error_mask != 0;
    std::int64_t next = settled ? kNever : now_ + std::max(wu_.delay_bound + wu_.delay_bound / 2, kLongestRest);
    for (const Item& item : results_) {
        const ResultFacts& r = item.is;
        if (r.server_state == ServerState::kInProgress) next = std::min(next, r.report_deadline);
        if (files_wait_for(r)) next = std::min(next, r.report_deadline);
    }
    next = std::min({next, deletion_time, kNever});
    if (next < now_) next = now_ + std::clamp<std::int64_t>(2 * (now_ - next), 60, 86400);
    return next;
}

void Planner::collect_changes() {
    for (const Item& item : results_) {
        const ResultFacts &was = item.was, &is = item.is;
        if (is.server_state == was.server_state && is.outcome == was.outcome &&
            is.validate_state == was.validate_state && is.file_delete_state == was.file_delete_state)
            continue;
        ResultChange change{.was = was,
                            .server_state = is.server_state,
                            .outcome = is.outcome,
                            .validate_state = is.validate_state,
                            .file_delete_state = is.file_delete_state};
        if (is.outcome == Outcome::kNoReply && was.server_state == ServerState::kInProgress)
            change.if_deadline_before = now_;
        plan_.results.push_back(change);
    }
}

}  // namespace

bool lacks_size_class(const TransitionFacts& facts, const TransitionParams& params) {
    return params.compat_level >= 1 && facts.wu.size_class < 0 && facts.results.empty() &&
           params.apps_with_size_classes.contains(facts.wu.appid);
}

TransitionPlan plan_transition(const TransitionFacts& facts, const TransitionParams& params, std::int64_t now) {
    return Planner(facts, params, now).plan();
}

void postpone_creation(TransitionPlan& plan, std::int64_t now, std::int64_t delay) {
    plan.create = {};
    plan.workunit.transition_time = std::min(plan.workunit.transition_time, now + delay);
}

}  // namespace sluice
