// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/app_versions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "sched/match/plan_class_spec.h"
#include "sched/match/tally.h"
#include "sluice/base/text.h"
#include "sluice/match/plan_classes.h"
#include "sluice/model/anonymous_version.h"

namespace sluice::match {
namespace {

constexpr double kHostSamples = 10, kVersionSamples = 100;  // statistics count from more than that
constexpr double kSpeedCap = 250;                           // an estimate is at most that many times the plan class's
constexpr int kProven = 10;                                 // valid results in a row

// Upstream grants slower kinds of hosts a longer turnaround.
double turnaround_factor(const Host& host) {
    const bool mac = contains_ignoring_case(host.os_name, "Darwin");
    const bool power = contains_ignoring_case(host.p_vendor, "Power Macintosh");
    const bool common = contains_ignoring_case(host.os_name, "Windows") ||
                        contains_ignoring_case(host.os_name, "Linux") || (mac && !power);
    return common ? 1 : 1.8;
}

}  // namespace

const HostAppVersion* find_row(const HostFacts& host, Id generalized_id) {
    for (const HostAppVersion& v : host.versions)
        if (v.app_version_id == generalized_id) return &v;
    return nullptr;
}

bool is_reliable(const MatchContext& x, const HostAppVersion* row) {
    if (!row || row->consecutive_valid < kProven) return false;
    const double most = x.params.reliable_max_avg_turnaround;
    if (most > 0 && row->turnaround.n > kHostSamples && row->turnaround.avg > most * turnaround_factor(x.host.row))
        return false;
    return x.params.daily_result_quota <= 0 || row->max_jobs_per_day >= x.params.daily_result_quota;
}

bool is_trusted(const MatchContext& x, const HostAppVersion* row) {
    return row && row->consecutive_valid >= kProven && x.rng.uniform() > 1.0 / row->consecutive_valid;
}

SpeedEstimate estimate_speed(const MatchContext& x, const AppVersion& version, const HostAppVersion* row,
                             const HostUsage& usage) {
    const auto plausible = [](double v) { return std::isfinite(v) && v > 0; };
    if (!x.params.rte_no_stats && row && row->et.n > kHostSamples) {
        const bool from_pfc = x.params.estimate_flops_from_hav_pfc && row->pfc_avg > 0;
        const double flops = from_pfc ? usage.peak_flops / row->pfc_avg : 1 / row->et.avg;
        if (plausible(flops)) return {std::min(flops, kSpeedCap * usage.projected_flops), false};
    }
    if (!x.params.rte_no_stats && version.pfc_n > kVersionSamples) {
        const double flops = usage.peak_flops / version.pfc_avg;
        if (plausible(flops)) return {flops, true};
    }
    const double f = x.host.row.p_fpops > 0 ? x.host.row.p_fpops : 1e9;
    return {f * (usage.avg_ncpus + kGpuPerCpu * usage.gpu_usage), true};
}

double compared_speed(const MatchContext& x, const HostAppVersion* row, double plan_class_flops, double estimate) {
    double n = 1, v = plan_class_flops;
    if (row) {
        n = std::max(std::floor(row->pfc_n), 1.0);
        v = ((n - 1) * estimate + plan_class_flops) / n;
        // A version that only ever failed here is tried once in a hundred times.
        if (row->pfc_n == 0 && row->max_jobs_per_day == 1 && row->consecutive_valid == 0 && x.rng.uniform() < 0.99)
            v *= 0.01;
    }
    if (x.params.version_select_random_factor == 0) return v;
    return v * std::max(1 + x.params.version_select_random_factor * x.rng.gaussian() / n, 0.1);
}

Quota daily_quota(const MatchContext& x, const HostAppVersion& row) {
    Quota q{row.n_jobs_today, -1};
    if (x.params.daily_result_quota <= 0) return q;  // no quota configured
    const Id id = row.app_version_id;
    double scale = std::max(x.host.row.p_ncpus, 1);
    if (const ProcType type = proc_type_of_row(x, id); type != ProcType::kCpu) {
        scale = std::max(limit_processors(x.host, type), 1);
        if (x.params.gpu_multiplier > 0) scale *= x.params.gpu_multiplier;
    }
    const double n = row.max_jobs_per_day;
    // A version that is down to one job a day gets one, whatever the host's size.
    q.allowed = static_cast<int>(std::min(n == 1 ? 1 : n * scale, 1e9));
    return q;
}

ProcType proc_type_of_row(const MatchContext& x, Id generalized_id) {
    if (const auto own = anonymous_version(generalized_id)) return own->type;
    const AppVersion* version = x.tables.version(generalized_id);
    return version ? x.plan_classes.resource(version->plan_class, x.params.compat_level) : ProcType::kCpu;
}

int size_class_of(const std::vector<double>* quantiles, double effective_speed) {
    if (!quantiles || quantiles->empty()) return -1;
    const auto above = std::upper_bound(quantiles->begin(), quantiles->end(), effective_speed);
    return static_cast<int>(above - quantiles->begin());
}

namespace {

constexpr Id kFirstAnonymousId = -2;  // -2 CPU, -3 NVIDIA, …

bool is_64(const std::string& platform) { return platform.find("64") != std::string::npos; }

// What a 32-bit program can address on the host's system.
double address_space_32(const std::vector<std::string>& platforms) {
    constexpr double kGiga = 1024.0 * 1024 * 1024;
    const std::string name = platforms.empty() ? std::string() : platforms[0];
    const auto is = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (is("windows")) return 2 * kGiga;
    if (is("linux")) return 3 * kGiga;
    if (is("darwin") || is("solaris")) return 4 * kGiga;
    return 2 * kGiga;
}

std::size_t at(ProcType type) { return static_cast<std::size_t>(type); }

// The basis of credit: the processors that the volunteer's version says it uses. (Upstream means the same, but reads
// the host's speed too early: its CPU part is 0.)
double anonymous_peak(const HostFacts& host, const ClientAppVersion& v) {
    const double f = host.row.p_fpops > 0 ? host.row.p_fpops : 1e9;
    double peak = f * (v.avg_ncpus > 0 || v.proc_type != ProcType::kCpu ? v.avg_ncpus : 1);
    for (const Coproc& c : host.coprocs)
        if (c.proc_type == v.proc_type && v.proc_type != ProcType::kCpu) peak += v.gpu_usage * c.peak_flops;
    return peak;
}

Verdict check_core_version(const HostFacts& host, const AppVersion& v) {
    if (v.min_core_version && host.client_version < v.min_core_version)
        return refuse(Reason::kClientTooOld, host.client_version, v.min_core_version);
    if (v.max_core_version && host.client_version > v.max_core_version)
        return refuse(Reason::kClientTooNew, host.client_version, v.max_core_version);
    return feasible();
}

// Old clients run nothing but one CPU.
Verdict check_capability(const HostFacts& host, const HostUsage& use) {
    const bool plain = use.proc_type == ProcType::kCpu && use.gpu_usage == 0 && use.avg_ncpus == 1;
    return host.plan_class_capable || plain ? feasible() : refuse(Reason::kNoPlanClassSupport, 0, 1);
}

// Also of the old versions, which are kept for the jobs that are bound to them.
std::array<bool, kProcTypes> resources_of_all_versions(const MatchContext& x) {
    const int level = x.params.compat_level;
    std::array<bool, kProcTypes> has = resources_with_versions(x.tables, x.buda, x.plan_classes, level);
    for (const AppVersion& v : x.tables.versions) {
        const auto types = x.plan_classes.resources(v.plan_class, level);
        std::ranges::transform(has, types, has.begin(), std::logical_or());
    }
    return has;
}

// Without a look at the host.
ProcType type_of_version(const MatchContext& x, const std::string& plan_class) {
    const PlanClassSpec* spec = x.plan_classes.find(plan_class, x.params.compat_level);
    return spec ? declared_type(*spec, x.params.compat_level) : proc_type_of_plan_class(plan_class.c_str());
}

// The memory bound of jobs for which 64 bits are needed, before any job is looked at.
constexpr double kMoreThan32Bits = std::numeric_limits<double>::max();

}  // namespace

Verdict check_type_allowed(const UserFacts& user, ProcType type) {
    if (!user.dont_use[at(type)]) return feasible();
    return refuse(type == ProcType::kCpu ? Reason::kCpuRefusedByPrefs : Reason::kGpuRefusedByPrefs, 0, 1);
}

bool says_more(const Verdict& a, const Verdict& b) {
    return reason_row(a.reason).of_versions > reason_row(b.reason).of_versions;
}

Verdict not_of_this_resource(const Offer& offer) {
    return offer.refusal.reason == Reason::kGpuMissing ? offer.refusal : refuse(Reason::kResourceNotWanted);
}

Verdict for_this_job(const Verdict& why, const JobSummary& job) {
    Verdict v = why;
    if (v.required == kMoreThan32Bits) v.required = job.rsc_memory_bound;
    return v;
}

VersionChooser::VersionChooser(const MatchContext& context, const JobPool& pool)
    : x_(context),
      pool_(pool),
      address_space_(address_space_32(context.host.platforms)),
      project_has_(resources_of_all_versions(context)),
      apps_(context.tables.apps.size()) {}

void VersionChooser::finish(const AppFacts& app, Offer& offer) const {
    AppChoice& choice = offer.choice;
    offer.app = &app;
    choice.found = true;
    offer.type = offer.counted_as = choice.usage.proc_type;
    choice.availability = offer.type == ProcType::kCpu ? x_.host.cpu_availability : x_.host.gpu_availability;
    choice.availability = std::clamp(choice.availability, 0.01, 1.0);
    if (!(choice.usage.projected_flops > 0)) choice.usage.projected_flops = 1e9;
    offer.seconds_per_flop = 1 / choice.effective_speed();
    if (x_.params.size_classes) offer.host_size_class = size_class_of(app.quantiles, choice.effective_speed());
}

void VersionChooser::apply_plan_class(const std::string& name, Offer& offer) const {
    const PlanClassSpec* spec = x_.plan_classes.find(name, x_.params.compat_level);
    if (!spec) {
        offer.refusal = refuse(Reason::kPlanClassRefused);
        offer.choice.usage.proc_type = proc_type_of_plan_class(name.c_str());
        return;
    }
    PlanClassAnswer answer = evaluate_plan_class(x_, *spec);
    offer.choice.usage = std::move(answer.usage);
    offer.refusal = answer.verdict;
    offer.gpu_need = answer.gpu_need;
    if (offer.refusal.refused()) offer.choice.usage.proc_type = declared_type(*spec, x_.params.compat_level);
    if (spec->window.any()) offer.window = &spec->window;
}

Offer VersionChooser::native_offer(const AppFacts& app, std::size_t index, const std::string& platform) const {
    const AppVersion& v = x_.tables.versions[index];
    Offer offer;
    AppChoice& choice = offer.choice;
    choice.app_version_id = choice.generalized_id = v.id;
    choice.version_index = index;
    choice.version_num = v.version_num;
    choice.plan_class = v.plan_class;
    choice.platform = platform;
    offer.platform_is_64 = is_64(platform);
    offer.deprecated = v.deprecated;
    choice.usage = sequential_usage(x_);
    if (!is_whole(v.xml_doc, "app_version"))
        offer.refusal = refuse(Reason::kVersionDocument, static_cast<double>(v.xml_doc.size()));
    else if (v.beta && !x_.user.allow_beta_work)
        offer.refusal = refuse(Reason::kBetaNotAllowed, 0, 1);
    if (offer.refusal.refused()) {
        choice.usage.proc_type = type_of_version(x_, v.plan_class);  // it stands in the way on its own resource
    } else if (!v.plan_class.empty()) {
        apply_plan_class(v.plan_class, offer);
    }
    const HostAppVersion* row = find_row(x_.host, v.id);
    if (row) offer.quota = static_cast<int>(row - x_.host.versions.data());
    if (!offer.refusal.refused()) offer.refusal = check_capability(x_.host, choice.usage);
    if (!offer.refusal.refused()) offer.refusal = check_type_allowed(x_.user, choice.usage.proc_type);
    if (!offer.refusal.refused() && row) offer.refusal = daily_quota(x_, *row).verdict();
    if (!offer.refusal.refused()) offer.refusal = check_core_version(x_.host, v);
    choice.reliable = is_reliable(x_, row);
    choice.trusted = is_trusted(x_, row);
    const SpeedEstimate estimate = estimate_speed(x_, v, row, choice.usage);
    offer.compared_speed = compared_speed(x_, row, choice.usage.projected_flops, estimate.flops);
    choice.usage.projected_flops = estimate.flops;
    choice.speed_is_guess = estimate.guess;
    finish(app, offer);
    return offer;
}

Offer VersionChooser::anonymous_offer(const AppFacts& app, std::size_t index) const {
    const ClientAppVersion& v = x_.host.client_versions[index];
    Offer offer;
    AppChoice& choice = offer.choice;
    choice.anonymous = true;
    choice.app_version_id = kFirstAnonymousId - static_cast<Id>(v.proc_type);
    choice.generalized_id = generalized_version_id(app.app->id, choice.app_version_id);
    choice.version_index = index;
    choice.version_num = v.version_num;
    choice.plan_class = v.plan_class;
    choice.platform = v.platform;
    offer.platform_is_64 = is_64(v.platform);
    HostUsage& use = choice.usage;
    use.proc_type = v.proc_type;
    use.gpu_usage = v.gpu_usage;
    use.avg_ncpus = v.avg_ncpus;
    use.projected_flops = v.flops > 0 ? v.flops : x_.host.row.p_fpops > 0 ? x_.host.row.p_fpops : 1e9;
    use.peak_flops = anonymous_peak(x_.host, v);
    const HostAppVersion* row = find_row(x_.host, choice.generalized_id);
    if (row) offer.quota = static_cast<int>(row - x_.host.versions.data());
    choice.reliable = is_reliable(x_, row);
    choice.trusted = is_trusted(x_, row);
    if (row && row->et.n > 10 && row->et.avg > 0) {
        constexpr double kCap = 250;
        const double measured = std::min(1 / row->et.avg, kCap * use.projected_flops);
        choice.fpops_scale = use.projected_flops / measured;
        use.projected_flops = measured;
        choice.speed_is_guess = false;
    }
    offer.compared_speed = use.projected_flops;
    if (v.version_num < app.app->min_version)
        offer.refusal = refuse(Reason::kAppVersionMismatch, v.version_num, app.app->min_version);
    if (app.app->homogeneous_app_version) offer.refusal = refuse(Reason::kAppVersionMismatch);
    // Who brings versions of his own has chosen the resource (upstream); level 1: preferences hold for them too.
    if (!offer.refusal.refused() && x_.params.compat_level > 0)
        offer.refusal = check_type_allowed(x_.user, v.proc_type);
    if (!offer.refusal.refused() && row) offer.refusal = daily_quota(x_, *row).verdict();
    finish(app, offer);
    return offer;
}

void VersionChooser::build_native(const AppFacts& app, PerApp& out) const {
    for (const std::string& name : x_.host.platforms) {
        const Platform* platform = x_.tables.platform_by_name(name);
        if (!platform) continue;
        for (std::size_t i = 0; i < x_.tables.versions.size(); ++i) {
            const AppVersion& v = x_.tables.versions[i];
            if (v.appid != app.app->id || v.platformid != platform->id) continue;
            out.offers.push_back(native_offer(app, i, name));
            out.depends_on_job = out.depends_on_job || out.offers.back().window;
        }
    }
}

void VersionChooser::build_anonymous(const AppFacts& app, PerApp& out) const {
    for (std::size_t i = 0; i < x_.host.client_versions.size(); ++i)
        if (x_.host.client_versions[i].appid == app.app->id) out.offers.push_back(anonymous_offer(app, i));
}

void VersionChooser::build(const AppFacts& app, PerApp& versions) {
    versions.built = true;
    if (x_.host.anonymous)
        build_anonymous(app, versions);
    else
        build_native(app, versions);
    number(versions.offers);
    JobSummary plain;
    for (Picks& picks : versions.picks) {
        for (int t = 0; t < kProcTypes; ++t)
            picks[static_cast<std::size_t>(t)] = best(app, versions, plain, static_cast<ProcType>(t));
        plain.rsc_memory_bound = kMoreThan32Bits;
    }
}

void VersionChooser::number(std::vector<Offer>& offers) {
    for (Offer& offer : offers) {
        offer.number = static_cast<std::uint32_t>(offers_.size());
        offers_.push_back(&offer);
    }
}

// Why this version is not for this job on this resource; feasible if it is.
Verdict VersionChooser::suits(const AppFacts& app, const Offer& offer, const JobSummary& job, ProcType type) const {
    const AppChoice& c = offer.choice;
    const bool committed = app.app->homogeneous_app_version && job.app_version_id != 0;
    if (committed && c.app_version_id != job.app_version_id)
        return refuse(Reason::kAppVersionMismatch, 0, job.app_version_id);
    if (job.app_version_num != 0 && c.version_num != job.app_version_num)
        return refuse(Reason::kAppVersionMismatch, c.version_num, job.app_version_num);
    // Old versions are loaded for jobs that are bound to them.
    if (job.app_version_num == 0 && offer.deprecated && !committed) return refuse(Reason::kNoAppVersion);
    if (job.rsc_memory_bound > address_space_ && !offer.platform_is_64)
        return refuse(Reason::kMemory, address_space_, job.rsc_memory_bound);
    if (offer.type != type) return hidden_by_name(offer) ? refuse(Reason::kPlanClassName) : not_of_this_resource(offer);
    if (offer.refusal.refused()) return offer.refusal;
    return offer.window ? offer.window->check(job) : feasible();
}

VersionPick VersionChooser::best(const AppFacts& app, const PerApp& versions, const JobSummary& job,
                                 ProcType type) const {
    VersionPick pick{nullptr, refuse(Reason::kNoAppVersion)};
    if (app.app->homogeneous_app_version && job.app_version_id != 0)
        pick.why = refuse(Reason::kAppVersionMismatch, 0, job.app_version_id);
    const std::string* platform = nullptr;
    // Who brings versions of his own has no order of platforms.
    const bool first_platform = x_.params.prefer_primary_platform && !x_.host.anonymous;
    for (const Offer& offer : versions.offers) {
        if (first_platform && pick.offer && *platform != offer.choice.platform) break;
        platform = &offer.choice.platform;
        const Verdict why = suits(app, offer, job, type);
        if (why.refused() && says_more(why, pick.why)) pick.why = why;
        if (!why.refused() && (!pick.offer || offer.compared_speed > pick.offer->compared_speed)) pick.offer = &offer;
    }
    if (pick.offer) pick.why = feasible();
    return pick;
}

VersionPick VersionChooser::choose(const AppFacts& app, const JobSummary& job, const SlotRef& ref, ProcType type) {
    const Picks* known = picks(app, job, ref);
    VersionPick pick = known ? (*known)[at(type)] : best(app, versions_of(app), job, type);
    pick.why = for_this_job(pick.why, job);
    return pick;
}

VersionPick VersionChooser::choose_any(const AppFacts& app, const JobSummary& job, const SlotRef& ref,
                                       const std::array<bool, kProcTypes>& wanted) {
    VersionPick found{nullptr, refuse(Reason::kNoAppVersion)};
    for (int t = kProcTypes - 1; t >= 0; --t) {
        if (!wanted[static_cast<std::size_t>(t)]) continue;
        const VersionPick pick = choose(app, job, ref, static_cast<ProcType>(t));
        if (!pick.offer) {
            if (!found.offer && says_more(pick.why, found.why)) found.why = pick.why;
        } else if (!found.offer || pick.offer->compared_speed > found.offer->compared_speed) {
            found = pick;
        }
    }
    return found;
}

// Level 0: no search is made for its resource, as no class's name says that there is work for it.
bool VersionChooser::hidden_by_name(const Offer& offer) const {
    const std::size_t type = at(offer.type);
    const bool wanted = !x_.wanted.resource_specific || x_.wanted.seconds[type] > 0;
    return !x_.host.anonymous && !offer.refusal.refused() && wanted && !project_has_[type];
}

Verdict VersionChooser::why_no_apps_for(ProcType type, const std::vector<AppFacts>& apps) {
    constexpr int kByGpuType = 1;
    const auto of_type = [&](const AppVersion& v) {
        return x_.plan_classes.resources(v.plan_class, kByGpuType)[at(type)];
    };
    if (x_.host.anonymous || std::ranges::none_of(x_.tables.versions, of_type)) return refuse(Reason::kNoAppVersion);
    for (const AppFacts& app : apps)
        for (const Offer& offer : versions_of(app).offers)
            if (offer.type == type && hidden_by_name(offer)) return refuse(Reason::kPlanClassName);
    return refuse(Reason::kNoAppVersion);
}

bool VersionChooser::has_apps_for(ProcType type) const {
    if (x_.host.anonymous)
        return std::any_of(x_.host.client_versions.begin(), x_.host.client_versions.end(),
                           [&](const ClientAppVersion& v) { return v.appid > 0 && v.proc_type == type; });
    return project_has_[at(type)];
}

void VersionChooser::tell(const Offer& offer, Id appid, MatchStats& stats) const {
    if (offer.deprecated) return;
    if (offer.refusal.words) note(stats, {0, refuse(offer.refusal.reason, 0, 0, offer.refusal.words)});
    if (offer.refusal.reason == Reason::kDailyQuota && offer.quota >= 0) {
        const double unscaled = x_.host.versions[static_cast<std::size_t>(offer.quota)].max_jobs_per_day;
        note(stats, {appid, refuse(Reason::kDailyQuota, unscaled, offer.refusal.required)});
    }
    if (!offer.gpu_need) return;
    GpuDemand& d = stats.gpu_demands[at(offer.gpu_need->type)];
    const auto include = [](auto& least, auto& all, auto needed) {
        if (least == 0 || needed < least) least = needed;
        if (needed > all) all = needed;
    };
    include(d.min_ram, d.all_ram, offer.gpu_need->ram);
    include(d.min_driver, d.all_drivers, offer.gpu_need->driver);
}

// The volunteer brings the versions: of which app does none of them do?
void VersionChooser::tell_anonymous(const PerApp& versions, Id appid, MatchStats& stats) const {
    const auto usable = [](const Offer& o) {
        return o.refusal.reason != Reason::kDailyQuota && o.refusal.reason != Reason::kAppVersionMismatch;
    };
    if (std::none_of(versions.offers.begin(), versions.offers.end(), usable))
        note(stats, {appid, refuse(Reason::kNoAppVersion)});
}

void VersionChooser::tell(MatchStats& stats) const {
    for (std::size_t i = 0; i < apps_.size(); ++i) {
        if (!apps_[i].built) continue;
        const App& app = x_.tables.apps[i];
        for (const Offer& offer : apps_[i].offers) tell(offer, app.id, stats);
        if (x_.host.anonymous && !app.homogeneous_app_version) tell_anonymous(apps_[i], app.id, stats);
    }
    for (const auto& [key, versions] : buda_)
        for (const Offer& offer : versions.offers) tell(offer, x_.tables.apps[key >> 32].id, stats);
}

}  // namespace sluice::match
