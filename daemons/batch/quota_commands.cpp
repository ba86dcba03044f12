// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch/quota_commands.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "daemons/batch/batch_text.h"
#include "db/store_rules.h"
#include "sluice/base/error.h"
#include "sluice/base/text.h"
#include "sluice/model/anonymous_version.h"

namespace sluice {
namespace {

using QuotaJson = nlohmann::ordered_json;
using Table = std::vector<std::vector<std::string>>;

std::string document(const QuotaJson& json) {
    return json.dump(2, ' ', false, QuotaJson::error_handler_t::replace) + "\n";
}

std::string percent(double part) { return part > 0 ? fmt::format("{:.1f} %", 100 * part) : "-"; }

std::string name_and_id(const std::string& name, Id id) {
    return name.empty() ? std::to_string(id) : fmt::format("{} ({})", in_one_line(name, 40), id);
}

double all_operations(const std::map<ProcType, UsageView::Used>& types) {
    double sum = 0;
    for (const auto& [type, used] : types) sum += used.operations;
    return sum;
}

/// Everybody who has a quota or used something; those without an account last (0).
std::vector<Id> users_of(const UsageView& view, std::optional<Id> only) {
    if (only) return {*only};
    std::set<Id> ids;
    for (const QuotaRow& q : view.quotas) ids.insert(q.user.id);
    for (const auto& [id, types] : view.used) ids.insert(id);
    std::vector<Id> all;
    for (const Id id : ids)
        if (id != 0) all.push_back(id);
    if (ids.contains(0)) all.push_back(0);
    return all;
}

std::string name_of(const UsageView& view, Id id) {
    for (const QuotaRow& q : view.quotas)
        if (q.user.id == id) return q.user.name;
    const auto found = view.names.find(id);
    return found == view.names.end() ? "" : found->second;
}

double operations_of_all(const UsageView& view) {
    double sum = 0;
    for (const auto& [id, types] : view.used) sum += all_operations(types);
    return sum;
}

/// Whose the jobs without a batch are, if that is a matter of what is shown.
std::string without_batch_text(const UsageView& view, std::optional<Id> only) {
    if (!view.owner || (only && *only != view.owner->id)) return "";
    std::int64_t jobs = 0;
    for (const auto& [type, used] : view.without_batch) jobs += used.instances;
    return fmt::format("Jobs without a batch are those of {} (<jobs_without_batch>): {} of the user's jobs had none",
                       name_and_id(view.owner->name, view.owner->id), jobs);
}

const std::map<ProcType, UsageView::Used>& used_by(const UsageView& view, Id id) {
    static const std::map<ProcType, UsageView::Used> nothing;
    const auto found = view.used.find(id);
    return found == view.used.end() ? nothing : found->second;
}

}  // namespace

void UsageView::give_to(const NamedUser& user) {
    owner = user;
    names[user.id] = user.name;
    for (const auto& [type, part] : without_batch) {
        used[user.id][type] += part;
        used[0][type] -= part;
        if (used[0][type].instances == 0) used[0].erase(type);
    }
    if (used.contains(0) && used[0].empty()) used.erase(0);
}

double part_of_quotas(const std::vector<QuotaRow>& rows, Id user) {
    double sum = 0, own = 0;
    for (const QuotaRow& q : rows) {
        sum += usable_quota(q.quota);
        if (q.user.id == user) own = usable_quota(q.quota);
    }
    return sum > 0 ? own / sum : 0;
}

std::string quotas_text(const std::vector<QuotaRow>& rows, std::optional<Id> only) {
    Table table{{"USER", "NAME", "E-MAIL", "QUOTA", "SHARE"}};
    for (const QuotaRow& q : rows)
        if (!only || q.user.id == *only)
            table.push_back({std::to_string(q.user.id), in_one_line(q.user.name, 40), in_one_line(q.user.email, 60),
                             usable_quota(q.quota) > 0 ? fmt::format("{:g}", q.quota) : "none",
                             percent(part_of_quotas(rows, q.user.id))});
    if (table.size() == 1) return "Nobody has a quota: sluice_batch quota --user USER --set 1 gives one.\n";
    return text_table(table, {true, false, false, true, true});
}

std::string quotas_json(const std::vector<QuotaRow>& rows, std::optional<Id> only) {
    QuotaJson all = QuotaJson::array();
    for (const QuotaRow& q : rows)
        if (!only || q.user.id == *only)
            all.push_back({{"user_id", q.user.id},
                           {"user", q.user.name},
                           {"email", q.user.email},
                           {"quota", usable_quota(q.quota) > 0 ? q.quota : 0},
                           {"share", part_of_quotas(rows, q.user.id)},
                           {"submit_all", q.submit_all},
                           {"manage_all", q.manage_all},
                           {"max_jobs_in_progress", q.max_jobs_in_progress}});
    return document(all);
}

std::string usage_text(const UsageView& view, std::optional<Id> only) {
    const double all = operations_of_all(view);
    Table table{{"USER", "SHARE", "USED", "RESOURCE", "JOBS", "HOURS", "1e15 OPS", "CREDIT"}};
    for (const Id id : users_of(view, only)) {
        const auto& types = used_by(view, id);
        std::vector<std::string> row{id == 0 ? "(no batch)" : name_and_id(name_of(view, id), id),
                                     percent(part_of_quotas(view.quotas, id)),
                                     percent(all > 0 ? all_operations(types) / all : 0)};
        for (const auto& [type, used] : types) {
            row.insert(row.end(), {proc_type_user_name(type), std::to_string(used.instances),
                                   fmt::format("{:.1f}", used.seconds / 3600),
                                   fmt::format("{:.4g}", used.operations / 1e15), fmt::format("{:.0f}", used.credit)});
            table.push_back(row);
            row = {"", "", ""};
        }
        if (!types.empty()) continue;
        row.resize(table[0].size(), "-");
        table.push_back(row);
    }
    std::string head = fmt::format("Work that came back in the last {} days\n", view.days);
    if (const std::string text = without_batch_text(view, only); !text.empty()) head += text + "\n";
    if (table.size() == 1) return head + "Nobody has a quota, and no work came back.\n";
    return head + text_table(table, {false, true, true, false, true, true, true, true});
}

std::string usage_json(const UsageView& view, std::optional<Id> only) {
    const double all = operations_of_all(view);
    QuotaJson users = QuotaJson::array();
    for (const Id id : users_of(view, only)) {
        const auto& types = used_by(view, id);
        QuotaJson resources = QuotaJson::array();
        for (const auto& [type, used] : types)
            resources.push_back({{"resource", proc_type_name(type)},
                                 {"jobs", used.instances},
                                 {"hours", used.seconds / 3600},
                                 {"operations", used.operations},
                                 {"credit", used.credit}});
        users.push_back({{"user_id", id == 0 ? QuotaJson() : QuotaJson(id)},
                         {"user", name_of(view, id)},
                         {"share", part_of_quotas(view.quotas, id)},
                         {"used", all > 0 ? all_operations(types) / all : 0},
                         {"operations", all_operations(types)},
                         {"resources", std::move(resources)}});
    }
    return document({{"days", view.days},
                     {"from", static_cast<std::int64_t>(view.until - view.days * 86400.0)},
                     {"until", static_cast<std::int64_t>(view.until)},
                     {"owner_without_batch", view.owner ? QuotaJson(view.owner->id) : QuotaJson()},
                     {"users", std::move(users)}});
}

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

ProcType UsageResource::operator()(const UsageRow& row) const {
    if (const auto type = anonymous_type(row.version)) return *type;
    return classes.resource(row.plan_class, compat_level);
}

UsageView usage_of(QuotaStore& store, const UsageResource& resource, double now, int days) {
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
