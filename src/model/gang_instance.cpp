#include "sluice/model/gang_instance.h"

#include <algorithm>

#include "sluice/base/hash.h"

namespace sluice {

std::string gang_tag(std::string_view result_name) { return md5_hex(result_name).substr(0, kGangTag); }

std::string gang_instance_token(std::string_view place_token, std::string_view tag) {
    return std::string(tag) + hmac_sha256_hex(place_token, tag);
}

std::string with_gang_instance(std::string document, std::string_view result_name) {
    constexpr std::string_view kOption = " --gang_token ";
    const auto option = document.rfind(kOption);  // a submitter's own words stand before
    if (option == std::string::npos) return document;
    const auto from = option + kOption.size();
    const std::string place = document.substr(from, kGangPlaceToken);
    const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    const bool ends = from + kGangPlaceToken >= document.size() || !is_hex(document[from + kGangPlaceToken]);
    if (place.size() < kGangPlaceToken || !ends || !std::all_of(place.begin(), place.end(), is_hex)) return document;
    return document.replace(from, kGangPlaceToken, gang_instance_token(place, gang_tag(result_name)));
}

}  // namespace sluice
