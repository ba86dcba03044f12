// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/gang_hub/gang_token.h"

#include <fmt/core.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "sluice/base/text.h"
#include "sluice/model/gang.h"

namespace sluice {
namespace {

constexpr int kSecretBytes = 32;
constexpr char kSecretFile[] = "gang_secret";

template <typename T>
bool whole_text(std::string_view text, T& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
}

std::string checked_secret(std::string_view text, const std::filesystem::path& file) {
    std::string secret(trim(text));
    if (secret.size() < 2 * kSecretBytes)
        throw FileError(file.string() +
                        " holds no secret: remove it, another is made then; members of gangs that were "
                        "submitted before can't meet any more");
    return secret;
}

}  // namespace

std::string gang_name(const GangId& gang) { return fmt::format("{}.{}", gang.batch, gang.number); }

std::optional<GangId> parse_gang_name(std::string_view text) {
    const auto dot = text.find('.');
    GangId id;
    if (dot == std::string_view::npos || !whole_text(text.substr(0, dot), id.batch) ||
        !whole_text(text.substr(dot + 1), id.number) || id.batch <= 0 || id.number < 0)
        return std::nullopt;
    return id;
}

std::string gang_secret(const std::filesystem::path& key_dir) {
    const std::filesystem::path file = key_dir / kSecretFile;
    if (const auto text = read_file(file, 4096)) return checked_secret(*text, file);
    // A link is made or not: of two programs that come here at once, both use the same secret.
    const std::filesystem::path mine = key_dir / fmt::format("{}.{}", kSecretFile, ::getpid());
    write_file_atomically(mine, random_hex(kSecretBytes) + "\n", 0600);
    const bool failed = ::link(mine.c_str(), file.c_str()) != 0 && errno != EEXIST;
    const int error = errno;
    ::unlink(mine.c_str());
    if (failed) throw FileError("Can't make " + file.string() + ": " + file_problem(error, file));
    return checked_secret(read_file(file, 4096).value_or(""), file);
}

std::string gang_token(std::string_view secret, const GangSeat& seat) {
    return hmac_sha256_hex(secret, fmt::format("gang {} member {}", gang_name(seat.gang), seat.member));
}

std::optional<std::string> proven_gang_tag(std::string_view secret, const GangSeat& seat, std::string_view token) {
    std::string tag(token.substr(0, kGangTag));
    const std::string right = gang_instance_token(gang_token(secret, seat), tag);
    if (token.size() != right.size() || CRYPTO_memcmp(token.data(), right.data(), right.size()) != 0)
        return std::nullopt;
    return tag;
}

std::string gang_arguments(std::string_view secret, const GangSeat& seat, int size, const std::string& hub) {
    return fmt::format("--gang {} --gang_member {} --gang_size {} --gang_token {} --gang_hub {}", gang_name(seat.gang),
                       seat.member, size, gang_token(secret, seat), hub);
}

HubAddress parse_hub_address(std::string_view text) {
    const auto colon = text.rfind(':');
    HubAddress address;
    const std::string_view host = text.substr(0, colon == std::string_view::npos ? 0 : colon);
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    address.host = bracketed ? host.substr(1, host.size() - 2) : host;
    const bool strange = address.host.find_first_of(bracketed ? " \t\n'\"" : " \t\n'\":") != std::string::npos;
    if (address.host.empty() || strange || !whole_text(text.substr(colon + 1), address.port) || address.port < 1 ||
        address.port > 65535)
        throw ConfigError("<gang_hub> in config.xml is '" + in_one_line(text) +
                          "': give HOST:PORT, where the members of gangs reach gang_hub");
    return address;
}

}  // namespace sluice
