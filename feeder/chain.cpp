// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/chain.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

EnumeratorSettings settings_of(const ProjectConfig& config, const FeederOptions& options) {
    EnumeratorSettings s;
    s.options = options;
    s.hr_quotas = config.hr_allocate_slots;
    s.needs_batch = config.refuses_jobs_without_batch();
    s.slots = static_cast<std::size_t>(config.shmem_work_items);
    s.head = std::max(1, config.feeder_query_size);
    return s;
}

std::vector<Submitter> submitters_of(const std::vector<Id>& users, FeederStore& store) {
    if (users.empty()) return {};
    const auto found = store.submitters(users);
    std::vector<Submitter> in_order;
    for (const Id user : users) {
        const auto s = std::find_if(found.begin(), found.end(), [&](const Submitter& x) { return x.user_id == user; });
        if (s == found.end()) {
            throw ConfigError(fmt::format(
                "--user {}: there is no such user, or it may not submit jobs (no row in user_submit)", user));
        }
        in_order.push_back(*s);
    }
    return in_order;
}

FeederOptions with_shares(const ProjectConfig& config, FeederOptions options) {
    const bool by_default = options.order == FeederOrder::kDefault && options.users.empty();
    if (config.share_rule != ShareOrder::kOff && by_default) options.order = FeederOrder::kShares;
    return options;
}

}  // namespace

FeederChain::FeederChain(const ProjectConfig& c, const FeederOptions& o, FeederStore& store, Env env,
                         std::function<bool(Id)> held)
    : config(c),
      options(with_shares(c, o)),
      enumerator(settings_of(c, options), store, env.rng, std::move(held)),
      picker(options, submitters_of(options.users, store), env.rng),
      filler(c, options, store, enumerator, picker) {
    enumerator.set_lack(
        {[this](Id app) { return filler.lacks_app(app); }, [this](const UnsentRow& row) { return filler.lacks(row); }});
}

void FeederChain::set_apps(const std::vector<App>& apps) {
    const bool strict = config.compat_level == 0 || config.hr_allocate_slots;
    const std::string wrong = hr_misconfiguration(apps, config.homogeneous_redundancy, options.allapps, strict);
    if (!wrong.empty()) throw ConfigError(wrong);
    std::optional<HrInfo> info;
    if (config.hr_allocate_slots) info = read_hr_info(config.project_dir);
    std::vector<App> mine;
    std::vector<Id> ids;
    for (const App& app : apps) {
        const auto& only = options.appids;
        if (!only.empty() && std::find(only.begin(), only.end(), app.id) == only.end()) continue;
        mine.push_back(app);
        ids.push_back(app.id);
    }
    for (const Id id : options.appids) {
        if (std::find(ids.begin(), ids.end(), id) != ids.end()) {
            unknown_.erase(id);
        } else if (unknown_.insert(id).second) {
            log_warning("--appids {}: there is no such app, or it is deprecated", id);
        }
    }
    filler.set_apps(mine, static_cast<std::size_t>(config.shmem_work_items), info ? &*info : nullptr);
    enumerator.set_apps(ids);
}

void FeederChain::set_batches(const std::unordered_map<Id, BatchShare>& batches) {
    if (options.order != FeederOrder::kShares) return;
    picker.set_batches(batches);
    enumerator.keep_batches_apart(!batches.empty());
}

namespace {

std::array<std::filesystem::path, 2> hr_info_places(const std::filesystem::path& project) {
    return {"../hr_info.txt", project / "hr_info.txt"};
}

}  // namespace

HrInfo read_hr_info(const std::filesystem::path& project) {
    for (const std::filesystem::path& file : hr_info_places(project)) {
        if (const auto text = read_trusted_file(file, 1 << 20)) return parse_hr_info(*text, file.string());
    }
    throw ConfigError(
        "<hr_allocate_slots> needs hr_info.txt in the project's folder, and there is none; run census, which writes it");
}

std::optional<std::filesystem::file_time_type> hr_info_time(const std::filesystem::path& project) {
    for (const std::filesystem::path& file : hr_info_places(project)) {
        std::error_code error;
        const auto time = std::filesystem::last_write_time(file, error);
        if (!error) return time;
    }
    return std::nullopt;
}

}  // namespace sluice
