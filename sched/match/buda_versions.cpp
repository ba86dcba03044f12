// SPDX-License-Identifier: LGPL-3.0-or-later
// BUDA: a job brings its science app along. Its versions are that app's variants, and a plain CPU version of the
// wrapper app runs them.
#include "sched/match/app_versions.h"
#include "sched/match/plan_class_spec.h"

namespace sluice::match {

// The wrapper is a plain CPU version on the primary platform.
const Offer* VersionChooser::buda_wrapper(const AppFacts& app, Verdict& none) {
    const Offer* best = nullptr;
    if (x_.host.platforms.empty()) return best;
    for (const Offer& o : versions_of(app).offers) {
        if (o.choice.platform != x_.host.platforms[0] || o.type != ProcType::kCpu || o.deprecated) continue;
        if (o.refusal.refused() && says_more(o.refusal, none)) none = o.refusal;
        if (!o.refusal.refused() && (!best || o.compared_speed > best->compared_speed)) best = &o;
    }
    if (best) none = refuse(Reason::kNoAppVersion);
    return best;
}

Offer VersionChooser::buda_offer(const AppFacts& app, const Offer& wrapper, const BudaVariant& variant) const {
    Offer offer = wrapper;
    offer.choice.buda_variant = variant.name;
    offer.choice.usage = sequential_usage(x_);
    if (!variant.plan_class.empty()) apply_plan_class(variant.plan_class, offer);
    if (!offer.refusal.refused()) offer.refusal = check_type_allowed(x_.user, offer.choice.usage.proc_type);
    offer.choice.speed_is_guess = true;
    offer.compared_speed = offer.choice.usage.projected_flops;
    finish(app, offer);
    if (x_.params.compat_level <= 0) offer.counted_as = ProcType::kCpu;  // upstream counts the wrapper
    return offer;
}

// Each variant that this host's processor can run is one offer.
const VersionChooser::PerBudaApp& VersionChooser::buda_versions(const AppFacts& app, const JobSummary& job,
                                                                const SlotRef& ref) {
    std::uint32_t hash = job.buda_app_hash;
    if (hash == 0) {
        const std::string name = buda_app_name(pool_.workunit_xml(ref).value_or(""));
        hash = file_name_hash(name.data(), name.size());
    }
    const auto [it, fresh] = buda_.try_emplace(static_cast<std::uint64_t>(app.index) << 32 | hash);
    PerBudaApp& versions = it->second;
    if (!fresh) return versions;
    Verdict none = refuse(Reason::kNoAppVersion);
    const Offer* wrapper = x_.buda ? buda_wrapper(app, none) : nullptr;
    if (wrapper) {
        for (const BudaApp& science : x_.buda->apps()) {
            if (file_name_hash(science.name.data(), science.name.size()) != hash) continue;
            for (const BudaVariant& v : science.variants)
                if (buda_cpu_matches(v.cpu_type, x_.host.platforms[0]))
                    versions.offers.push_back(buda_offer(app, *wrapper, v));
        }
    }
    number(versions.offers);
    for (int t = 0; t < kProcTypes; ++t)
        versions.picks[static_cast<std::size_t>(t)] = best_variant(versions.offers, static_cast<ProcType>(t), none);
    return versions;
}

VersionPick VersionChooser::best_variant(const std::vector<Offer>& offers, ProcType type, const Verdict& none) {
    VersionPick pick{nullptr, none};
    for (const Offer& offer : offers) {
        const Verdict why = offer.type != type ? not_of_this_resource(offer) : offer.refusal;
        if (why.refused() && says_more(why, pick.why)) pick.why = why;
        if (!why.refused() && (!pick.offer || offer.compared_speed > pick.offer->compared_speed)) pick.offer = &offer;
    }
    if (pick.offer) pick.why = feasible();
    return pick;
}

}  // namespace sluice::match
