// SPDX-License-Identifier: LGPL-3.0-or-later
// Apart from the other checksums: a program that makes none gets nothing of OpenSSL's EVP interface.
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "sluice/base/error.h"
#include "sluice/base/hash.h"

namespace sluice {

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &size) == nullptr)
        throw Error("OpenSSL can't make a SHA-256 HMAC: does this machine's policy forbid it?");
    return hex(digest.data(), size);
}

}  // namespace sluice
