// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/shares.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "daemons/batches/owners_page.h"
#include "db/store_rules.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

std::optional<NamedUser> user_named(const std::string& text, QuotaStore& store) {
    if (const auto number = parse_int(text)) return store.user(*number);
    // An account may have another's address for its name.
    for (const NamedUser& u : store.users_called(text))
        if (to_lower_ascii(u.email) == to_lower_ascii(text)) return u;
    return std::nullopt;
}

}  // namespace

std::optional<ShareSettings> share_settings(const ProjectConfig& config) {
    if (config.share_rule == ShareOrder::kOff) return std::nullopt;
    const bool seed = config.share_rule == ShareOrder::kSeed;
    return ShareSettings{seed ? share::ShareRule::kSeed : share::ShareRule::kSettled, config.share_clamp, 0};
}

OwnerWithoutBatch owner_without_batch(const ProjectConfig& config, QuotaStore& store) {
    OwnerWithoutBatch owner;
    if (!config.gives_an_owner_to_jobs_without_batch()) return owner;
    owner.user = user_named(config.jobs_without_batch, store);
    if (!owner.user)
        owner.problem = fmt::format(
            "<jobs_without_batch> of config.xml is {}, and there is no such user: jobs without a batch are free until it is "
            "the number or e-mail address of an account (create_account makes one)",
            in_one_line(config.jobs_without_batch));
    return owner;
}

namespace {

/// What has become of the batches and users of `before`.
std::vector<std::string> changes(const share::ClockState& before, const share::ClockState& after) {
    std::vector<std::string> lines;
    std::map<Id, const share::BatchTags*> known;
    for (const share::BatchTags& b : before.batches) known[b.id] = &b;
    for (const share::BatchTags& b : after.batches) {
        const auto old = known.find(b.id);
        const std::string name = fmt::format("batch {} of user {}", b.id, b.user);
        if (old == known.end())
            lines.push_back(fmt::format("{}: gets a place for {:.6g} s of the whole project, logical end {}", name,
                                        b.seconds, utc_text(b.end)));
        else if (b.finished && !old->second->finished)
            lines.push_back(fmt::format("{}: is over: charged {:.6g} s of the whole project, {:.6g} s before", name,
                                        b.seconds, old->second->seconds));
        else if (b.seconds != old->second->seconds || b.end != old->second->end)
            lines.push_back(fmt::format("{}: {:.6g} s of the whole project, {:.6g} s before; logical end {}", name,
                                        b.seconds, old->second->seconds, utc_text(b.end)));
    }
    for (const auto& [id, user] : after.users) {
        const auto old = before.users.find(id);
        if (old != before.users.end() && old->second.lst != user.lst)
            lines.push_back(fmt::format("user {}: logical start {:+.6g} s", id, user.lst - old->second.lst));
    }
    return lines;
}

}  // namespace

std::vector<std::string> shares_preview(ShareStore& store, const ShareSettings& settings, const Clock& clock) {
    const double now = clock.now(), flops = flops_of(store.project_speed(now), now);
    const auto works = all_works(store, settings, now);
    std::vector<std::string> lines;
    store.look(settings, now, [&](ShareBook& book) {
        const share::ClockState before = book.clock.state();
        const ShareOutcome done = settle_all(book, works, flops, now);
        lines = changes(before, book.clock.state());
        for (const Id batch : done.without_quota)
            lines.push_back(fmt::format("batch {}: its user has no quota: its jobs come after all others", batch));
    });
    return lines;
}

ShareOutcome shares_pass(ShareStore& store, const ShareSettings& settings, const Clock& clock) {
    const double started = clock.now();
    store.prepare();
    const double flops = flops_of(store.project_speed(started), started);
    // Results are read before the clock is locked: a pass over millions of them keeps no submission waiting.
    const auto works = all_works(store, settings, started);
    ShareOutcome done;
    store.change(settings, started, [&](ShareBook& book) { done = settle_all(book, works, flops, started); });
    for (const Id batch : done.without_quota)
        log_debug("[batch#{}] its user has no quota (sluice_batch quota): its jobs come after all others", batch);
    log_at(
        done.any() ? LogLevel::kNormal : LogLevel::kDebug,
        "pass: {} batches at {:.3g} FLOPS of the project; {} admitted, {} taken over, {} settled, {} over, {} streams "
        "charged, {} without a quota; {:.3f} s",
        works.size(), flops, done.admitted, done.adopted, done.settled, done.finished, done.streams,
        done.without_quota.size(), clock.now() - started);
    return done;
}

ShareOutcome admission_pass(ShareStore& store, const ShareSettings& settings, const Clock& clock) {
    const double now = clock.now();
    ShareOutcome done;
    std::vector<BatchWork> works;
    for (const Id batch : store.without_place()) {
        const std::vector<BatchWork> one = store.works(now, batch);
        works.insert(works.end(), one.begin(), one.end());
    }
    if (works.empty()) return done;
    const double flops = flops_of(store.project_speed(now), now);
    store.change(settings, now, [&](ShareBook& book) { done = admit_all(book, works, flops, now); });
    log_at(done.any() ? LogLevel::kNormal : LogLevel::kDebug, "{} new batches admitted, {} taken over", done.admitted,
           done.adopted);
    return done;
}

SharesService::SharesService(const SharesOptions& options, ShareStore& store, const Clock& clock, Notices& notices)
    : Service(std::min(options.every, kLook)),
      options_(options),
      store_(store),
      clock_(clock),
      notices_(notices),
      passes_(options.every) {}

Turn SharesService::turn() {
    if (options_.before_turn) options_.before_turn();
    if (options_.dry_run) {
        for (const std::string& line : shares_preview(store_, options_.rules, clock_)) fmt::print("{}\n", line);
        return idle();
    }
    const double now = clock_.now();
    const bool pass = passes_.due(now);
    const ShareOutcome done = (pass ? shares_pass : admission_pass)(store_, options_.rules, clock_);
    if (pass) passes_.restart(now);
    // At level 1 the feeder looks every minute by itself; a batch that is new has no minute to lose.
    is_to_tell_ |= done.admitted + done.adopted > 0 || (done.any() && options_.compat_level == 0);
    if (is_to_tell_) notices_.reread_tables();
    is_to_tell_ = false;
    if (pass && options_.after_pass) options_.after_pass(clock_.now());
    return idle();
}

namespace {

constexpr const char* kGiveAnOwner =
    "<jobs_without_batch>USER</jobs_without_batch>, with a user's number or e-mail address, charges them to a user";

std::string owner_finding(const OwnerWithoutBatch& owner, const std::vector<QuotaRow>& rows) {
    if (!owner.user) return owner.problem;
    const Id id = owner.user->id;
    const bool has_quota =
        std::ranges::any_of(rows, [&](const QuotaRow& q) { return q.user.id == id && usable_quota(q.quota) > 0; });
    if (has_quota) return "";
    return fmt::format(
        "user {0} ({1}) owns the jobs without a batch (<jobs_without_batch>) and has no quota: they come after all "
        "others; sluice_batch quota --user {0} --set 1 gives one",
        id, in_one_line(owner.user->name, 40));
}

}  // namespace

std::vector<std::string> findings_without_batch(const ProjectConfig& config, QuotaStore& quotas,
                                                BatchOwnerStore& batches) {
    if (config.share_rule == ShareOrder::kOff) return {};
    const std::vector<QuotaRow> rows = quotas.quotas();
    if (config.gives_an_owner_to_jobs_without_batch()) {
        const std::string finding = owner_finding(owner_without_batch(config, quotas), rows);
        return finding.empty() ? std::vector<std::string>{} : std::vector{finding};
    }
    const std::int64_t unsent = batches.instances(kWithoutBatch).unsent;
    if (unsent == 0) return {};
    if (config.refuses_jobs_without_batch())
        return {
            fmt::format("{} unsent jobs have no batch, and <jobs_without_batch> refuses them: no host gets them. {}; "
                        "or cancel their workunits",
                        unsent, kGiveAnOwner)};
    const bool shared = std::ranges::any_of(rows, [](const QuotaRow& q) { return usable_quota(q.quota) > 0; });
    if (!shared) return {};
    return {
        fmt::format("{} unsent jobs have no batch: nobody is charged for them, and they are behind nobody's batch. {}; "
                    "refuse has them not sent",
                    unsent, kGiveAnOwner)};
}

}  // namespace sluice
