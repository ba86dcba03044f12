// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/gangs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sluice/base/log.h"

namespace sluice {
namespace {

constexpr int kMostMembers = 5000, kMostHosts = 5000;
constexpr std::size_t kMostNoted = 1000;
constexpr double kHeardLately = 3600;  ///< s: a host that was heard of is thought to be on
constexpr double kLate = 600;          ///< s after its time to come
constexpr double kHostsPause = 60;     ///< s until hosts are read again for gangs of which no member is missing

}  // namespace

GangsToLookAt gangs_of(const std::vector<GangMemberRow>& members) {
    GangsToLookAt found;
    for (std::size_t i = 0; i < members.size();) {
        GangWork gang;
        gang.id = members[i].gang;
        gang.size = members[i].size;
        const bool ended = members[i].ended;
        int there = 0, failed = 0;
        std::vector<Id> open, cut;
        for (; i < members.size() && members[i].gang == gang.id; ++i, ++there) {
            const GangMemberRow& m = members[i];
            gang.fpops = std::max(gang.fpops, m.fpops);
            gang.platforms = m.platforms;
            failed += m.failed ? 1 : 0;
            if (!m.failed) open.push_back(m.workunit);
            if (!m.busy && !m.failed) gang.missing.push_back(m.workunit);
            if (!m.busy && !m.failed && m.cut) cut.push_back(m.workunit);
        }
        const std::string name = fmt::format("gang {}.{}", gang.id.batch, gang.id.number);
        if (ended) {
            // Nobody would be there for it to meet.
            if (!gang.missing.empty())
                found.hopeless.push_back(
                    {gang.id, gang.missing,
                     fmt::format("{}: has ended, and the results of {} members are lost: they are cancelled", name,
                                 gang.missing.size())});
        } else if (failed == 0 && there == gang.size && !cut.empty()) {
            found.cut.push_back(fmt::format(
                "{}: no host is asked to come for it: no reply can carry the XML of its workunits {}, which is not whole. "
                "Write it anew (sluice_batch show {} names them, too), or abort the batch",
                name, fmt::join(cut, ", "), gang.id.batch));
        } else if (failed == 0 && there == gang.size) {
            found.gangs.push_back(std::move(gang));
        } else {
            found.hopeless.push_back(
                {gang.id, open,
                 fmt::format("{}: can't go on: of {} members {} have failed, {} are not there: it is cancelled", name,
                             gang.size, failed, gang.size - there)});
        }
    }
    return found;
}

GangFactsNow GangService::read(std::vector<std::string>& said) {
    GangFactsNow facts;
    const std::vector<GangMemberRow> members = store_.open_members(kMostMembers);
    GangsToLookAt found = gangs_of(members);
    facts.gangs = std::move(found.gangs);
    said.insert(said.end(), found.cut.begin(), found.cut.end());
    for (const HopelessGang& gang : found.hopeless) {
        if (!settings_.dry_run) store_.give_up(gang.id, gang.workunits, clock_.now_sec());
        said.push_back(gang.why);
    }
    const bool waiting =
        std::any_of(facts.gangs.begin(), facts.gangs.end(), [](const GangWork& g) { return !g.missing.empty(); });
    // Spares of gangs that are at work are no matter of seconds.
    const bool now_and_then = !facts.gangs.empty() && clock_.now() - hosts_read_ >= kHostsPause;
    if (waiting || now_and_then)
        hosts_read_ = clock_.now(),
        facts.hosts =
            store_.free_hosts(static_cast<std::int64_t>(clock_.now() - kHeardLately), settings_.quota, kMostHosts);
    read_instances(members, facts, said);
    facts.leases = store_.leases();  // at last: who has its job is not thought to have come in vain
    return facts;
}

void GangService::read_instances(const std::vector<GangMemberRow>& members, GangFactsNow& facts,
                                 std::vector<std::string>& said) {
    std::map<GangId, GangWork*> by_id;
    for (GangWork& gang : facts.gangs) by_id[gang.id] = &gang;
    std::erase_if(unfit_, [&](const auto& each) { return !by_id.contains(each.first); });
    std::map<Id, GangWork*> gang_of;
    std::vector<Id> workunits;
    for (const GangMemberRow& m : members) {
        const auto gang = by_id.find(m.gang);
        gang_of[m.workunit] = gang == by_id.end() ? nullptr : gang->second;
        workunits.push_back(m.workunit);
    }
    std::set<Id> computing;
    for (const GangInstance& i : store_.instances_of(workunits)) {
        if (i.in_progress) computing.insert(i.host);
        GangWork* const gang = gang_of.at(i.workunit);
        if (gang == nullptr) continue;
        gang->hosts_tried.push_back(i.host);
        if (i.in_progress && i.p_fpops > 0)
            gang->slowest = gang->slowest > 0 ? std::min(gang->slowest, i.p_fpops) : i.p_fpops;
        if (i.in_progress) give_up_silent(gang->id, i, said);
    }
    // Of two members on one host one would wait for the other, and both gangs with them.
    std::erase_if(facts.hosts, [&](const GangHost& h) { return computing.contains(h.id); });
    for (const auto& [id, hosts] : unfit_) {
        std::vector<Id>& tried = by_id.at(id)->hosts_tried;
        tried.insert(tried.end(), hosts.begin(), hosts.end());
    }
}

/// All others wait for it: a host that is off is not waited for until its instance's deadline.
void GangService::give_up_silent(const GangId& gang, const GangInstance& i, std::vector<std::string>& said) {
    if (settings_.contact <= 0 || clock_.now() - i.heard <= settings_.contact + kLate) return;
    OpenBatchResult result;
    result.id = i.result, result.workunit = i.workunit, result.batch = gang.batch, result.host = i.host;
    if (!settings_.dry_run) plans_.give_up({&result, 1}, clock_.now_sec(), true);
    said.push_back(fmt::format("gang {}.{}: host {} was not heard of for {:.0f} s: another one gets its member",
                               gang.batch, gang.number, i.host, clock_.now() - i.heard));
}

void GangService::write(const GangFactsNow& facts, const GangPlan& plan, std::int64_t version,
                        std::vector<std::string>& said) {
    std::vector<GangLease> changed;
    for (const GangLease& l : plan.keep)
        if (std::find(facts.leases.begin(), facts.leases.end(), l) == facts.leases.end()) changed.push_back(l);
    if (changed.empty() && plan.end.empty()) return;
    if (!store_.write_leases(changed, plan.end, version)) {
        said.assign(1, "another gang_planner has written leases: its plan counts; one is enough");
        return;
    }
    for (const GangLease& l : plan.end)
        if (l.unfit) unfit_[l.gang].insert(l.host);
}

/// With the times that they have been so.
std::vector<GangWait> GangService::timed(const GangPlan& plan) {
    if (!waits_) {
        waits_.emplace();
        for (const GangWait& w : store_.waits()) waits_->emplace(w.gang, w);
    }
    std::vector<GangWait> all;
    for (const GangWait& w : plan.waits) {
        const auto before = waits_->find(w.gang);
        all.push_back(with_times(w, before == waits_->end() ? GangWait{} : before->second, clock_.now_sec()));
    }
    return all;
}

/// What has changed; more of it with the next pass. Who waits no more comes first: whoever waits is looked at again.
void GangService::note(const std::vector<GangWait>& waits) {
    std::vector<GangWait> changed;
    std::set<GangId> wait;
    for (const GangWait& w : waits) {
        wait.insert(w.gang);
        const auto before = waits_->find(w.gang);
        if (before == waits_->end() || before->second != w) changed.push_back(w);
    }
    std::ranges::sort(changed, {}, &GangWait::gang);
    std::rotate(changed.begin(), std::ranges::upper_bound(changed, last_noted_, {}, &GangWait::gang), changed.end());
    std::vector<GangWait> all;
    for (const auto& [id, w] : *waits_)
        if (!wait.contains(id)) all.push_back({.gang = id});
    all.insert(all.end(), changed.begin(), changed.end());
    if (all.size() > kMostNoted) all.resize(kMostNoted);
    store_.note_waits(all);
    for (const GangWait& w : all) {
        if (w.members > 0)
            waits_->insert_or_assign(w.gang, w), last_noted_ = w.gang;
        else
            waits_->erase(w.gang);
    }
}

std::vector<GangWait> GangService::look() {
    settings_.dry_run = true;
    std::vector<std::string> said;
    return timed(plan_gangs(read(said), clock_.now()));
}

std::vector<std::string> GangService::run() {
    if (!prepared_ && !settings_.dry_run) store_.prepare();
    prepared_ = true;
    std::vector<std::string> said;
    if (quiet_ && store_.open_members(kMostMembers).empty()) return said;
    const std::int64_t version = store_.version();
    const GangFactsNow facts = read(said);
    const GangPlan plan = plan_gangs(facts, clock_.now());
    said.insert(said.end(), plan.said.begin(), plan.said.end());
    if (!settings_.dry_run) {
        write(facts, plan, version, said);
        note(timed(plan));
    }
    for (const std::string& line : said)
        if (!said_before_.contains(line)) log_normal("{}{}", settings_.dry_run ? "dry run: " : "", line);
    said_before_ = {said.begin(), said.end()};
    quiet_ = facts.gangs.empty() && facts.leases.empty() && said.empty();
    return said;
}

}  // namespace sluice
