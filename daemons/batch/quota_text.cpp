// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch/quota_text.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "daemons/batch/batch_text.h"
#include "db/share_rules.h"
#include "sluice/base/in_one_line.h"

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

}  // namespace sluice
