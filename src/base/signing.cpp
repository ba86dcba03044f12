// SPDX-License-Identifier: LGPL-3.0-or-later
// RSA as BOINC has it: the padded text is the 32 hex digits themselves, without the DigestInfo that a
// standard PKCS#1 signature carries. OpenSSL does exactly this when a signing context is given no digest.
#include "sluice/base/signing.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/base/hash.h"
#include "src/base/key_text.h"

namespace sluice {
namespace {

using key_text::Bytes;

template <auto Free>
struct Deleter {
    template <typename T>
    void operator()(T* p) const {
        Free(p);
    }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using ContextPtr = std::unique_ptr<EVP_PKEY_CTX, Deleter<EVP_PKEY_CTX_free>>;
using NumberPtr = std::unique_ptr<BIGNUM, Deleter<BN_clear_free>>;
using BuilderPtr = std::unique_ptr<OSSL_PARAM_BLD, Deleter<OSSL_PARAM_BLD_free>>;
using ParamsPtr = std::unique_ptr<OSSL_PARAM, Deleter<OSSL_PARAM_free>>;

constexpr std::array<const char*, 2> kPublicNames{OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E};
constexpr std::array<const char*, 8> kPrivateNames{OSSL_PKEY_PARAM_RSA_N,         OSSL_PKEY_PARAM_RSA_E,
                                                   OSSL_PKEY_PARAM_RSA_D,         OSSL_PKEY_PARAM_RSA_FACTOR1,
                                                   OSSL_PKEY_PARAM_RSA_FACTOR2,   OSSL_PKEY_PARAM_RSA_EXPONENT1,
                                                   OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PKEY_PARAM_RSA_COEFFICIENT1};

/// The machine's openssl.cnf has no say: it costs time to read and may forbid 1024-bit keys.
void init_openssl() { OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr); }

[[noreturn]] void openssl_failed(const char* what) { throw Error(std::string("OpenSSL could not ") + what); }

template <std::size_t N>
KeyPtr key_from_text(std::string_view text, const std::array<std::size_t, N>& sizes,
                     const std::array<const char*, N>& names, int selection) {
    init_openssl();
    const std::vector<Bytes> bytes = key_text::read_key(text, sizes);
    std::vector<NumberPtr> numbers;  // the builder refers to them until the parameters are made
    const BuilderPtr builder(OSSL_PARAM_BLD_new());
    for (std::size_t i = 0; i < N; ++i) {
        numbers.emplace_back(BN_bin2bn(bytes[i].data(), static_cast<int>(bytes[i].size()), nullptr));
        if (OSSL_PARAM_BLD_push_BN(builder.get(), names[i], numbers.back().get()) != 1) openssl_failed("build a key");
    }
    const ParamsPtr params(OSSL_PARAM_BLD_to_param(builder.get()));
    const ContextPtr context(EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
    EVP_PKEY* key = nullptr;
    if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
        EVP_PKEY_fromdata(context.get(), &key, selection, params.get()) != 1) {
        throw ConfigError("its numbers are not an RSA key");
    }
    return KeyPtr(key);
}

Bytes sign_digits(EVP_PKEY* key, const std::string& digits) {
    const ContextPtr context(EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
    Bytes signature(key_text::kModulusBytes);
    std::size_t size = signature.size();
    if (!context || EVP_PKEY_sign_init(context.get()) != 1 ||
        EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_PADDING) != 1 ||
        EVP_PKEY_sign(context.get(), signature.data(), &size, reinterpret_cast<const unsigned char*>(digits.data()),
                      digits.size()) != 1 ||
        size != signature.size()) {
        openssl_failed("sign: the private key's numbers do not belong together");
    }
    return signature;
}

/// The text that was signed; empty if the padding is not right.
std::string signed_digits(EVP_PKEY* key, const Bytes& signature) {
    const ContextPtr context(EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
    std::array<char, key_text::kModulusBytes> text{};
    std::size_t size = text.size();
    if (!context || EVP_PKEY_verify_recover_init(context.get()) != 1 ||
        EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_PADDING) != 1 ||
        EVP_PKEY_verify_recover(context.get(), reinterpret_cast<unsigned char*>(text.data()), &size, signature.data(),
                                signature.size()) != 1) {
        return {};
    }
    return {text.data(), size};
}

template <std::size_t N>
std::string text_of(EVP_PKEY* key, const std::array<std::size_t, N>& sizes, const std::array<const char*, N>& names) {
    std::vector<Bytes> numbers;
    for (std::size_t i = 0; i < N; ++i) {
        BIGNUM* raw = nullptr;
        if (EVP_PKEY_get_bn_param(key, names[i], &raw) != 1) openssl_failed("read a key");
        const NumberPtr number(raw);
        Bytes bytes(sizes[i]);
        if (BN_bn2binpad(raw, bytes.data(), static_cast<int>(bytes.size())) < 0) openssl_failed("write a key");
        numbers.push_back(std::move(bytes));
    }
    return key_text::write_key(numbers);
}

}  // namespace

struct PrivateKey::Impl {
    KeyPtr key;
};

PrivateKey::PrivateKey(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PrivateKey::PrivateKey(PrivateKey&&) noexcept = default;
PrivateKey& PrivateKey::operator=(PrivateKey&&) noexcept = default;
PrivateKey::~PrivateKey() = default;

PrivateKey PrivateKey::from_text(std::string_view text) {
    auto impl = std::make_unique<Impl>();
    impl->key = key_from_text(text, key_text::kPrivateSizes, kPrivateNames, EVP_PKEY_KEYPAIR);
    PrivateKey key(std::move(impl));
    // A damaged key would sign without complaint, and every upload would be refused months later.
    const std::string probe(32, '0');
    if (signed_digits(key.impl_->key.get(), sign_digits(key.impl_->key.get(), probe)) != probe) {
        throw ConfigError("its numbers do not belong together");
    }
    return key;
}

PrivateKey PrivateKey::read(const std::filesystem::path& file) {
    const std::string text = key_text::read_file_of(file, "private");
    try {
        return from_text(text);
    } catch (const Error& why) {
        key_text::bad_key(file, "private", why);
    }
}

std::string PrivateKey::sign(std::string_view data) const {
    return key_text::encode(sign_digits(impl_->key.get(), md5_hex(data)));
}

std::string PrivateKey::sign_file(const std::filesystem::path& file) const {
    return key_text::encode(sign_digits(impl_->key.get(), md5_hex_of_file(file)));
}

KeyPairText generate_key_pair() {
    init_openssl();
    const KeyPtr key(EVP_RSA_gen(1024));
    if (!key) openssl_failed("make a key pair");
    return {text_of(key.get(), key_text::kPrivateSizes, kPrivateNames),
            text_of(key.get(), key_text::kPublicSizes, kPublicNames)};
}

}  // namespace sluice
