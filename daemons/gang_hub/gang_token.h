// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// By what a member of a gang proves to be the one: a keyed hash of its place, made with a secret of the project. And
// where the hub is.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/db/batch_plan_store.h"

namespace sluice {

/// A member's place.
struct GangSeat {
    GangId gang;
    int member = 0;
};

/// "12.0"
std::string gang_name(const GangId& gang);
/// nullopt: it is not written so.
std::optional<GangId> parse_gang_name(std::string_view text);

/// The secret in `key_dir`, made there if there is none. Throws FileError.
std::string gang_secret(const std::filesystem::path& key_dir);

/// The place's: HMAC-SHA256 as 64 hexadecimal digits. Clients get gang_instance_token() of it.
std::string gang_token(std::string_view secret, const GangSeat& seat);
/// gang_tag() of the instance whose token that is; nullopt: of none of this place. The time that it takes does not
/// depend on `token`.
std::optional<std::string> proven_gang_tag(std::string_view secret, const GangSeat& seat, std::string_view token);

/// What follows a member's command line.
std::string gang_arguments(std::string_view secret, const GangSeat& seat, int size, const std::string& hub);

struct HubAddress {
    std::string host;
    int port = 0;
};
/// HOST:PORT, [ADDRESS]:PORT. Throws ConfigError, which names <gang_hub>.
HubAddress parse_hub_address(std::string_view text);

}  // namespace sluice
