// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/rpc/prefs.h"

#include <algorithm>
#include <cmath>

#include "sluice/base/text.h"
#include "sluice/xml/reader.h"

namespace sluice {
namespace {

constexpr std::string_view kVenueOpen = "<venue name=\"", kVenueClose = "</venue>";

struct VenueBlock {
    std::size_t begin, end;  ///< of the element
    std::string_view name, content;
};

std::optional<VenueBlock> next_venue(std::string_view xml, std::size_t from) {
    const auto begin = xml.find(kVenueOpen, from);
    if (begin == std::string_view::npos) return std::nullopt;
    const auto name_begin = begin + kVenueOpen.size();
    const auto tag_end = xml.find('>', name_begin);
    const auto close = tag_end == std::string_view::npos ? tag_end : xml.find(kVenueClose, tag_end);
    if (close == std::string_view::npos) return std::nullopt;
    const auto quote = std::min(xml.find('"', name_begin), tag_end);
    return VenueBlock{begin, close + kVenueClose.size(), xml.substr(name_begin, quote - name_begin),
                      xml.substr(tag_end + 1, close - tag_end - 1)};
}

double number_of(std::string_view xml, std::string_view tag) {
    const double value = find_number(xml, tag).value_or(0);
    return std::abs(value) <= 1e18 ? value : 0;
}

/// <x/>, or <x>N</x> with N != 0.
std::optional<bool> flag_of(std::string_view xml, std::string_view tag) {
    const std::string empty = "<" + std::string(tag) + "/>";
    if (xml.find(empty) != std::string_view::npos) return true;
    if (!find_element(xml, tag)) return std::nullopt;
    const auto value = find_number(xml, tag);
    return value && *value != 0;
}

std::vector<Id> app_ids(std::string_view xml) {
    constexpr std::string_view kOpen = "<app_id>";
    // More apps than any project has; the preferences page lists each once.
    constexpr std::size_t kMost = 1000;
    std::vector<Id> out;
    for (auto at = xml.find(kOpen); at != std::string_view::npos && out.size() < kMost; at = xml.find(kOpen, at + 1)) {
        const auto begin = at + kOpen.size();
        const auto text = xml.substr(begin, std::min(xml.find('<', begin), xml.size()) - begin);
        const auto id = parse_int(text);
        if (id && *id > 0 && std::ranges::find(out, *id) == out.end()) out.push_back(*id);
    }
    return out;
}

}  // namespace

std::string venue_part(std::string_view xml, std::string_view venue) {
    std::string outside;
    std::size_t done = 0;
    while (const auto block = next_venue(xml, done)) {
        if (!venue.empty() && block->name == venue) return std::string(block->content);
        outside += xml.substr(done, block->begin - done);
        done = block->end;
    }
    return outside.append(xml.substr(std::min(done, xml.size())));
}

GlobalPrefs parse_global_prefs(std::string_view xml, std::string_view venue, double now) {
    GlobalPrefs prefs;
    prefs.mod_time = std::clamp(number_of(xml, "mod_time"), 0.0, std::max(now, 0.0));
    const std::string part = venue_part(xml, venue);
    prefs.disk_max_used_gb = number_of(part, "disk_max_used_gb");
    prefs.disk_max_used_pct = number_of(part, "disk_max_used_pct");
    prefs.disk_min_free_gb = number_of(part, "disk_min_free_gb");
    prefs.work_buf_min_days = number_of(part, "work_buf_min_days");
    prefs.ram_max_used_busy_frac = number_of(part, "ram_max_used_busy_pct") / 100;
    prefs.ram_max_used_idle_frac = number_of(part, "ram_max_used_idle_pct") / 100;
    prefs.max_ncpus_pct = number_of(part, "max_ncpus_pct");
    return prefs;
}

PrefsDecision decide_prefs(const PrefsSources& s, double now) {
    const GlobalPrefs working = parse_global_prefs(s.working, "", now);
    const GlobalPrefs master = parse_global_prefs(s.master, s.venue, now);
    const GlobalPrefs account = parse_global_prefs(s.account, s.venue, now);
    PrefsDecision decision;
    if (!s.working.empty()) {
        decision.effective = working;
    } else if (!s.master.empty() && (s.account.empty() || account.mod_time <= master.mod_time)) {
        decision.effective = master;
    } else if (!s.account.empty()) {
        decision.effective = account;
    }
    decision.store_in_account = !s.weak_key && !s.master.empty() && s.from_this_account &&
                                (s.account.empty() || master.mod_time > account.mod_time);
    decision.send_to_client =
        !s.account.empty() && account.mod_time > master.mod_time && account.mod_time > working.mod_time;
    return decision;
}

ProjectPrefs parse_project_prefs(std::string_view xml, std::string_view venue) {
    ProjectPrefs prefs;
    prefs.text = venue_part(xml, venue);
    prefs.selected_apps = app_ids(prefs.text);
    const auto flag = [&](std::string_view tag) { return flag_of(prefs.text, tag); };
    prefs.allow_non_preferred_apps = flag("allow_non_preferred_apps").value_or(false);
    prefs.allow_beta_work = flag("allow_beta_work").value_or(false);
    if (flag("no_gpus").value_or(false)) prefs.dont_use = {false, true, true, true, true};
    constexpr std::string_view kTags[kProcTypes] = {"no_cpu", "no_cuda", "no_ati", "no_intel_gpu", "no_apple_gpu"};
    for (std::size_t i = 0; i < kProcTypes; ++i) {
        if (const auto value = flag(kTags[i])) prefs.dont_use[i] = *value;
    }
    const auto limit = [&](std::string_view tag) {
        return std::max(clamp_to_int32(find_number(prefs.text, tag).value_or(0)), 0);
    };
    prefs.max_jobs = limit("max_jobs");
    prefs.max_cpus = limit("max_cpus");
    return prefs;
}

}  // namespace sluice
