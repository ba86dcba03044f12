// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Members of gangs on simulated hosts: processes that meet at the project's real GangHub, and compute in step while all
// are there. An application behaves like the sample gang_sum. It tries again when the gang breaks off. When it can't
// meet the others for twenty minutes, it leaves the processor to other work.
#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "daemons/gang_hub/missed_members.h"
#include "sched/sim/scenario.h"
#include "sluice/db/batch_plan_store.h"

namespace sluice::sim {

/// Core-hours of members' processes and what became of gangs; of those that are measured.
struct GangFigures {
    int submitted = 0, done = 0, breaks = 0;
    double useful = 0;            ///< all members computed, and it was not gone back behind it; with what follows
    double uneven = 0;            ///< of these: faster members waited for the slowest one's steps
    double lost = 0;              ///< computed, and gone back behind
    double first_wait = 0;        ///< at the hub, before all members met for the first time
    double later_waits = 0;       ///< after a break, until all met again
    std::vector<double> hours{};  ///< from submission to the end

    double idle() const { return first_wait + later_waits; }
    double wasted_part() const {
        const double all = useful + lost + idle();
        return all > 0 ? (idle() + lost) / all : 0;
    }
};

class SimulatedGangs final : public HubLinks, public HubQuestions, public GangDirectory {
  public:
    using Process = std::size_t;
    enum class Fate {
        kOpen,
        kDone,     ///< the gang has ended
        kFailed,   ///< it broke down, or the hub refused it
        kGivenUp,  ///< the project does not wait for it any more
    };

    SimulatedGangs(GangStore& store, BatchPlanStore& plans);
    ~SimulatedGangs() override;

    struct GangToMake {
        GangId id;
        std::vector<Id> workunits;  ///< by member
        double work = 0;            ///< s at speed 1, of each member
        double submitted = 0;
        bool measured = true;
        GangSpec spec;
    };
    void add(const GangToMake& gang);

    /// The host whose client is served now: processes that begin are its.
    void visit(std::size_t slot) { visitor_ = slot; }
    /// A job has come to a host of that speed; `fails_at`: it breaks down after such a part of its work, 0: never.
    /// nullopt: it is no member's.
    std::optional<Process> begin(Id workunit, const std::string& result, double speed, double fails_at);
    /// Does its host let it run?
    void let_run(Process process, bool runs, double now);
    Fate fate(Process process) const { return processes_[process].fate; }
    /// It does not want to run before that; 0: it does.
    double away_until(Process process) const { return processes_[process].away_until; }
    /// Of its whole work, as its client is told.
    double fraction_done(Process process) const;
    /// Its job is over, or its machine is gone.
    void leave(Process process, double now);

    /// To be called every few seconds.
    void look(double now);
    /// Hosts of whose processes something has become since the last call.
    std::vector<std::size_t> take_hosts_to_wake();
    GangFigures figures() const;

    // What the hub needs.
    void send(LinkId link, std::string_view line) override;
    void close(LinkId) override {}
    bool ask(HubQuestion question) override;
    std::optional<GangFacts> find(const GangId& gang) override { return store_.find(gang); }
    std::vector<SeatInstance> instances(const GangSeat& seat) override { return seat_instances(store_, seat); }
    void give_up(const GangId& gang, std::span<const MissedMember> members, bool long_since) override {
        give_up_missed(store_, plans_, gang, members, long_since, static_cast<std::int64_t>(now_));
    }
    void end(const GangId& gang) override;

  private:
    struct Mark {
        double progress = 0;              ///< s at speed 1
        double computed = 0, uneven = 0;  ///< core-seconds up to then
    };
    struct Gang;
    struct Member {
        Gang* gang = nullptr;
        int number = 0;
        std::string tag;  ///< of its instance
        std::size_t slot = 0;
        double speed = 1, fails_at = 0, gained = 0;
        bool runs = false, gone = false, started = false;
        Fate fate = Fate::kOpen;
        LinkId link = 0;  ///< 0: none
        std::size_t checkpoint = 0;
        double met = 0;              ///< all others, or began to try
        double retry = 0, wait = 0;  ///< when to try again, s that it waits then
        double away_until = 0;
    };

    void compute(Gang& gang, double seconds);
    void say_what_is_done(Gang& gang, double now);
    void try_to_meet(Process process, double now);
    void hear(Member& member, std::string_view line);
    void decide(Member& member, Fate fate);
    void hang_up(Member& member, double now);
    void restart(Gang& gang, std::size_t checkpoint);
    void go_back(Gang& gang);
    void wake(const Member& member) { to_wake_.push_back(member.slot); }

    GangStore& store_;
    BatchPlanStore& plans_;
    GangHub hub_;
    std::map<GangId, Gang> gangs_;
    std::unordered_map<Id, std::pair<Gang*, int>> seats_;  ///< by workunit
    std::vector<Member> processes_;
    std::unordered_map<LinkId, Process> by_link_;
    std::vector<std::size_t> to_wake_;
    std::size_t visitor_ = 0;
    LinkId last_link_ = 0;
    double now_ = 0;
};

}  // namespace sluice::sim
