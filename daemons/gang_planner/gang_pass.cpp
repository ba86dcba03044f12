#include "daemons/gang_planner/gang_pass.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "sluice/base/log.h"

namespace sluice {
namespace {

constexpr int kMostMembers = 5000, kMostHosts = 5000;
constexpr double kHeardWithin = 3600;  ///< s: a host that was heard of is thought to be on

}  // namespace

std::vector<GangWork> gangs_of(const std::vector<GangMemberRow>& members, std::vector<std::string>& said) {
    std::vector<GangWork> gangs;
    for (std::size_t i = 0; i < members.size();) {
        GangWork gang;
        gang.id = members[i].gang;
        gang.size = members[i].size;
        int there = 0, failed = 0;
        for (; i < members.size() && members[i].gang == gang.id; ++i, ++there) {
            const GangMemberRow& m = members[i];
            gang.fpops = std::max(gang.fpops, m.fpops);
            failed += m.failed ? 1 : 0;
            if (!m.busy && !m.failed) gang.missing.push_back(m.workunit);
        }
        if (failed == 0 && there == gang.size) {
            gangs.push_back(std::move(gang));
            continue;
        }
        said.push_back(fmt::format("gang {}.{}: can't go on: of {} members {} have failed, {} are not there",
                                   gang.id.batch, gang.id.number, gang.size, failed, gang.size - there));
    }
    return gangs;
}

GangFactsNow GangPass::read(std::vector<std::string>& said) {
    GangFactsNow facts;
    const std::vector<GangMemberRow> members = store_.open_members(kMostMembers);
    facts.gangs = gangs_of(members, said);
    facts.leases = store_.leases();
    std::map<GangId, GangWork*> by_id;
    for (GangWork& gang : facts.gangs)
        if (!gang.missing.empty()) by_id[gang.id] = &gang;
    std::map<Id, GangWork*> gang_of;
    std::vector<Id> workunits;
    for (const GangMemberRow& m : members) {
        const auto gang = by_id.find(m.gang);
        if (gang == by_id.end()) continue;
        gang_of[m.workunit] = gang->second;
        workunits.push_back(m.workunit);
    }
    if (workunits.empty()) return facts;
    for (const auto& [workunit, host] : store_.hosts_of(workunits)) gang_of.at(workunit)->hosts_tried.push_back(host);
    facts.hosts = store_.free_hosts(static_cast<std::int64_t>(clock_.now() - kHeardWithin), kMostHosts);
    return facts;
}

std::vector<std::string> GangPass::run() {
    if (!prepared_) store_.prepare();
    prepared_ = true;
    std::vector<std::string> said;
    const GangFactsNow facts = read(said);
    const GangPlan plan = plan_gangs(facts, clock_.now());
    said.insert(said.end(), plan.said.begin(), plan.said.end());
    if (!dry_run_) {
        std::vector<GangLease> changed;
        for (const GangLease& l : plan.keep)
            if (std::find(facts.leases.begin(), facts.leases.end(), l) == facts.leases.end()) changed.push_back(l);
        if (!changed.empty() || !plan.end.empty()) store_.write_leases(changed, plan.end);
    }
    for (const std::string& line : said)
        if (!said_before_.contains(line)) log_normal("{}{}", dry_run_ ? "dry run: " : "", line);
    said_before_ = {said.begin(), said.end()};
    return said;
}

}  // namespace sluice
