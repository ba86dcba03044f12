// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch/quota_commands.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sluice/base/error.h"
#include "sluice/base/in_one_line.h"
#include "sluice/base/text.h"
#include "sluice/model/anonymous_version.h"

namespace sluice {
namespace {

/// nullopt: the text is no number of an account.
std::optional<Id> number_in(const std::string& text) {
    if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    double value = 0;
    for (const char digit : text) value = 10 * value + (digit - '0');
    if (!(value >= 1 && value <= 2147483647)) return std::nullopt;
    return static_cast<Id>(value);
}

}  // namespace

NamedUser find_user(QuotaStore& store, const std::string& text) {
    const std::string shown = in_one_line(text);
    if (const auto id = number_in(text))
        if (const auto found = store.user(*id)) return *found;
    const auto called = text.empty() ? std::vector<NamedUser>{} : store.users_called(text);
    if (called.empty())
        throw ConfigError("there is no user " + (shown.empty() ? "''" : shown) +
                          ": --user takes the number, the e-mail address or the name of an account (create_account "
                          "makes one)");
    if (called.size() == 1) return called.front();
    std::string ids;
    for (const NamedUser& u : called) ids += (ids.empty() ? "" : ", ") + std::to_string(u.id);
    throw ConfigError(fmt::format("'{}' is the name of several users: give the number of one: {}", shown, ids));
}

Id user_id_of(QuotaStore& store, const std::string& text) {
    if (const auto id = number_in(text)) return *id;
    return find_user(store, text).id;
}

void set_quota(QuotaStore& store, const NamedUser& user, double quota) {
    if (quota != 0 && !(quota >= share::kLeastQuota && quota <= share::kMostQuota))
        throw ConfigError(fmt::format("--set {:g}: a quota is a number from {:g} to {:g}, or 0: none", quota,
                                      share::kLeastQuota, share::kMostQuota));
    store.set_quota(user.id, quota);
}

void reorder_batches(ShareStore& store, const ShareSettings& settings, double now) {
    store.prepare();
    const double flops = flops_of(store.project_speed(now), now);
    const auto works = all_works(store, settings, now);
    store.change(settings, now, [&](ShareBook& book) { settle_all(book, works, flops, now); });
}

std::vector<QuotaRow> quotas_with(QuotaStore& store, const std::optional<NamedUser>& user) {
    std::vector<QuotaRow> rows = store.quotas();
    if (user && std::none_of(rows.begin(), rows.end(), [&](const QuotaRow& q) { return q.user.id == user->id; }))
        rows.push_back({.user = *user});
    return rows;
}

ProcType ResourceOf::operator()(const UsageRow& row) const {
    if (const auto type = anonymous_type(row.version)) return *type;
    return classes.resource(row.plan_class, compat_level);
}

UsageView usage_of(QuotaStore& store, const ResourceOf& resource, double now, int days) {
    UsageView view;
    view.quotas = store.quotas();
    view.until = now;
    view.days = days;
    for (const UsageRow& row : store.usage(static_cast<std::int64_t>(now - days * 86400.0))) {
        const ProcType type = resource(row);
        const UsageView::Used used{row.instances, type == ProcType::kCpu ? row.processor_seconds : row.device_seconds,
                                   finite_or_zero(row.operations), finite_or_zero(row.credit)};
        view.used[std::max<Id>(row.user_id, 0)][type] += used;
        if (row.user_id == 0) view.without_batch[type] += used;
    }
    for (const auto& [id, types] : view.used)
        if (id != 0 && !view.names.contains(id))
            if (const auto user = store.user(id)) view.names[id] = user->name;
    return view;
}

}  // namespace sluice
