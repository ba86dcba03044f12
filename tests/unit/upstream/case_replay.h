// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What our decision code makes of a case (case_world.h), in this process; and decisions as text, ours and upstream's
// alike.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/rpc_world.h"
#include "tests/unit/upstream/case_world.h"
#include "tests/unit/upstream/deadline_rule.h"

namespace sluice::test {

/// The outcome of one request: what the client is told, and what the rows of its jobs say then.
struct CaseDecision {
    std::string delay;           ///< request_delay, whole seconds
    std::set<std::string> jobs;  ///< "result version deadline-sent peak_flops"
    std::set<std::string> messages;
};
/// From the reply and the rows after it; `in_progress_before`: results that are not of this request.
CaseDecision decision_of(const std::string& reply, const FakeDb& rows, Id host, const std::set<Id>& in_progress_before);
std::set<Id> in_progress(const FakeDb& rows);

/// One world, request after request. Which jobs are gone is what is recorded of upstream, whatever ours decided.
class CaseReplay {
  public:
    explicit CaseReplay(std::uint64_t seed);
    ~CaseReplay();
    static constexpr std::int64_t kNow = 1'700'000'000;
    /// Our decision on request n (0 …), with this seed of the random start; nothing changes.
    CaseDecision decide(int n, std::uint64_t scan_seed) const;
    /// False: it depends on where the scan starts, so that the two programs can't be compared.
    bool is_determined(int n, CaseDecision& decision) const;
    /// The jobs of request n went out.
    void apply(int n, const CaseDecision& recorded);
    /// Why upstream decided otherwise on request n: the beginning of the row of docs/compat.md (or several, with " + "
    /// between them) with which we decide the same; "not explained yet": there is none.
    std::string explanation(int n, const CaseDecision& recorded) const;
    /// hr_class and app_version_id of the workunits, in order of id.
    std::string commitments() const;

  private:
    /// Rules of upstream's that are not ours.
    struct UpstreamsRules {
        bool refreshed = false;              ///< short core versions keep no client away
        bool deadlines = false;              ///< deadline_rule.h
        std::map<bool, int> most_instances;  ///< of CPUs (false) and GPUs: where a quota ends the pass
        std::string names() const;
    };
    struct Answer {
        std::string reply;
        FakeDb rows;
    };
    /// As if these jobs weren't there, or were worth more than all others.
    struct Jobs {
        std::set<Id> without, first;
    };
    Answer answer(int n, std::uint64_t scan_seed, const UpstreamsRules& rules, const Jobs& jobs) const;
    std::vector<SentJob> sent_jobs(int n, const Answer& answer) const;
    CaseDecision decide(int n, std::uint64_t scan_seed, const UpstreamsRules& rules) const;
    bool has_one_already(int n, const SentJob& job) const;
    CaseDecision decide_by_upstreams_deadlines(int n, UpstreamsRules rules) const;
    std::string request(int n, const UpstreamsRules& rules) const;
    std::map<bool, int> passes_that_a_quota_may_end(int n, const CaseDecision& recorded) const;
    CaseWorld world_;
    std::vector<MemoryRpcPool::Slot> slots_;
};
std::string commitments_of(const FakeDb& rows);

}  // namespace sluice::test
