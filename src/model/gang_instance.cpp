// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/model/gang.h"

#include <algorithm>

#include "sluice/base/hash.h"
#include "sluice/model/job.h"

namespace sluice {
namespace {

std::string_view place_token(std::string_view document) {
    constexpr std::string_view kOption = " --gang_token ";
    const auto option = document.rfind(kOption);  // a submitter's own words stand before
    if (option == std::string_view::npos) return {};
    const auto from = option + kOption.size();
    const std::string_view place = document.substr(from, kGangPlaceToken);
    const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    const bool ends = from + kGangPlaceToken >= document.size() || !is_hex(document[from + kGangPlaceToken]);
    return place.size() == kGangPlaceToken && ends && std::all_of(place.begin(), place.end(), is_hex)
               ? place
               : std::string_view{};
}

}  // namespace

void send_by_gang_planner_only(Workunit& w) {
    constexpr int kErrors = 5, kInstances = 10;
    w.transitioner_flags = TransitionerFlags::kNoNewResults;
    w.transition_time = kNever;
    w.max_error_results = std::max(w.max_error_results, kErrors);
    w.max_total_results = std::max(w.max_total_results, kInstances);
}

std::string gang_tag(std::string_view result_name) { return md5_hex(result_name).substr(0, kGangTag); }

std::string gang_instance_token(std::string_view place_token, std::string_view tag) {
    return std::string(tag) + hmac_sha256_hex(place_token, tag);
}

bool is_gang_member(const Workunit& w) {
    return w.transitioner_flags == TransitionerFlags::kNoNewResults && !place_token(w.xml_doc).empty() &&
           w.xml_doc.find("--gang " + std::to_string(w.batch) + ".") != std::string::npos;
}

std::string with_gang_instance(std::string document, std::string_view result_name) {
    const std::string_view place = place_token(document);
    if (place.empty()) return document;
    const std::string token = gang_instance_token(place, gang_tag(result_name));
    return document.replace(static_cast<std::size_t>(place.data() - document.data()), place.size(), token);
}

}  // namespace sluice
