// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// By what a process proves to gang_hub which instance of a gang's member it is (docs/gangs.md). A workunit's document
// has the token of its place, which no client sees: the scheduler puts that of the instance in its stead.
#include <string>
#include <string_view>

#include "sluice/model/records.h"

namespace sluice {

inline constexpr std::size_t kGangPlaceToken = 64;  ///< hex digits of a place's token
inline constexpr std::size_t kGangTag = 16;         ///< hex digits that stand before an instance's

/// What an instance is called in its token: a part of the MD5 of its result's name.
std::string gang_tag(std::string_view result_name);
/// The tag, and its HMAC-SHA256 with the place's token as the key.
std::string gang_instance_token(std::string_view place_token, std::string_view tag);
/// Has sluice_batch made it a member of a gang of its batch? A job's own words may look like such a token.
bool is_gang_member(const Workunit& w);
/// A member's document as the client gets it. One without `--gang_token TOKEN` stays as it is.
std::string with_gang_instance(std::string document, std::string_view result_name);

}  // namespace sluice
