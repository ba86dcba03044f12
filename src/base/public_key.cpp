// SPDX-License-Identifier: LGPL-3.0-or-later
// RSA's public operation, by Nettle. The upload handler needs it once a process, where OpenSSL's tables cost more than
// all the rest: each start relocates them.
#include <nettle/bignum.h>
#include <nettle/rsa.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/base/hash.h"
#include "sluice/base/signing.h"
#include "src/base/key_text.h"

namespace sluice {

using key_text::Bytes;

struct PublicKey::Impl {
    Impl() { rsa_public_key_init(&key); }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() { rsa_public_key_clear(&key); }
    rsa_public_key key{};
};

PublicKey::PublicKey(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PublicKey::PublicKey(PublicKey&&) noexcept = default;
PublicKey& PublicKey::operator=(PublicKey&&) noexcept = default;
PublicKey::~PublicKey() = default;

PublicKey PublicKey::from_text(std::string_view text) {
    const std::vector<Bytes> numbers = key_text::read_key(text, key_text::kPublicSizes);
    auto impl = std::make_unique<Impl>();
    nettle_mpz_set_str_256_u(impl->key.n, numbers[0].size(), numbers[0].data());
    nettle_mpz_set_str_256_u(impl->key.e, numbers[1].size(), numbers[1].data());
    if (mpz_odd_p(impl->key.n) == 0 || mpz_sgn(impl->key.e) == 0 || rsa_public_key_prepare(&impl->key) != 1)
        throw ConfigError("its numbers are not an RSA key");
    return PublicKey(std::move(impl));
}

PublicKey PublicKey::read(const std::filesystem::path& file) {
    const std::string text = key_text::read_file_of(file, "public");
    try {
        return from_text(text);
    } catch (const Error& why) {
        key_text::bad_key(file, "public", why);
    }
}

bool PublicKey::verify(std::string_view data, std::string_view signature_hex) const {
    const Bytes bytes = key_text::decode(signature_hex);
    if (bytes.size() != key_text::kModulusBytes) return false;
    const std::string digits = md5_hex(data);
    mpz_t signature;
    nettle_mpz_init_set_str_256_u(signature, bytes.size(), bytes.data());
    const int valid =
        rsa_pkcs1_verify(&impl_->key, digits.size(), reinterpret_cast<const std::uint8_t*>(digits.data()), signature);
    mpz_clear(signature);
    return valid == 1;
}

}  // namespace sluice
