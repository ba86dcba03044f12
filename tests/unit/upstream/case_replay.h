#pragma once
// What our decision code makes of a case (case_world.h), in this process; and decisions as text, ours and upstream's
// alike.
#include <set>
#include <string>

#include "tests/support/rpc_world.h"
#include "tests/unit/upstream/case_world.h"

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
    CaseDecision decide(int n, std::uint64_t scan_seed) const { return decide(n, scan_seed, world_.rows); }
    /// False: it depends on where the scan starts, so that the two programs can't be compared.
    bool is_determined(int n, CaseDecision& decision) const;
    /// The jobs of request n went out.
    void apply(int n, const CaseDecision& recorded);
    /// The beginning of the row of docs/compat.md that explains why upstream decided otherwise on request n, as far as
    /// it can be proved; "not explained yet": there is none.
    std::string explanation(int n, const CaseDecision& recorded) const;
    /// hr_class and app_version_id of the workunits, in order of id.
    std::string commitments() const;

  private:
    CaseDecision decide(int n, std::uint64_t scan_seed, const FakeDb& rows) const;
    bool a_quota_ended_a_pass(int n, const CaseDecision& recorded, const FakeDb& rows) const;
    CaseWorld world_;
    std::vector<MemoryRpcPool::Slot> slots_;
};
std::string commitments_of(const FakeDb& rows);

}  // namespace sluice::test
