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
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

namespace key_text {

// The text form of BOINC's keys and signatures: hex digits, 64 a line, then a line with ".". A key file starts with its
// size in bits, always 1024. Its numbers follow one after the other, each of a fixed size with zeros on the left.

using Bytes = std::vector<unsigned char>;

constexpr std::size_t kModulusBytes = 128;
/// Modulus, exponent.
constexpr std::array<std::size_t, 2> kPublicSizes{128, 128};
/// Modulus, public exponent, private exponent, two primes, their two exponents, coefficient.
constexpr std::array<std::size_t, 8> kPrivateSizes{128, 128, 128, 64, 64, 64, 64, 64};

constexpr std::size_t kBytesPerLine = 32;

int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// Lines of 64 digits, then ".\n".
std::string encode(const Bytes& bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        out += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
        if ((i + 1) % kBytesPerLine == 0) out += '\n';
    }
    if (bytes.size() % kBytesPerLine != 0) out += '\n';
    return out + ".\n";
}

/// White space is skipped, the first other character that is not a hex digit ends the text; a half byte is dropped.
Bytes decode(std::string_view text) {
    Bytes bytes;
    int high = -1;
    for (const char c : text) {
        if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
        const int value = digit(c);
        if (value < 0) break;
        if (high < 0) {
            high = value;
        } else {
            bytes.push_back(static_cast<unsigned char>(high * 16 + value));
            high = -1;
        }
    }
    return bytes;
}

std::string write_key(const std::vector<Bytes>& numbers) {
    Bytes all;
    for (const Bytes& number : numbers) all.insert(all.end(), number.begin(), number.end());
    return "1024\n" + encode(all);
}

/// Throws ConfigError (without a file name) if it is no key of these sizes.
std::vector<Bytes> read_key(std::string_view text, const std::size_t* sizes, std::size_t count) {
    const auto line_end = text.find('\n');
    if (line_end == std::string_view::npos || trim(text.substr(0, line_end)) != "1024") {
        throw ConfigError("the first line of a key is its size in bits, 1024, and nothing else");
    }
    const Bytes all = decode(text.substr(line_end + 1));
    const std::size_t expected = std::accumulate(sizes, sizes + count, std::size_t{0});
    if (all.size() != expected) {
        throw ConfigError("a key of this kind has " + std::to_string(expected) + " bytes, this one has " +
                          std::to_string(all.size()));
    }
    std::vector<Bytes> numbers;
    auto at = all.begin();
    for (std::size_t i = 0; i < count; ++i) {
        const auto end = at + static_cast<std::ptrdiff_t>(sizes[i]);
        numbers.emplace_back(at, end);
        at = end;
    }
    if ((numbers[0][0] & 0x80) == 0) throw ConfigError("the modulus has less than 1024 bits");
    return numbers;
}

}  // namespace key_text

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
    const std::vector<Bytes> bytes = key_text::read_key(text, sizes.data(), sizes.size());
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

std::string key_file_text(const std::filesystem::path& file, const char* kind) {
    auto text = read_file(file, 1 << 20);
    if (!text) {
        throw ConfigError("There is no " + std::string(kind) + " key " + file.string() +
                          "; a project that has clients needs the one it had (they refuse what a new one signs): "
                          "restore it. For a new project: crypt_prog -genkey 1024 PRIVATE_FILE PUBLIC_FILE");
    }
    return std::move(*text);
}

[[noreturn]] void bad_key(const std::filesystem::path& file, const char* kind, const Error& why) {
    throw ConfigError(file.string() + " is not a " + kind + " key: " + why.what());
}

}  // namespace

struct PrivateKey::Impl {
    KeyPtr key;
};
struct PublicKey::Impl {
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
    const std::string text = key_file_text(file, "private");
    try {
        return from_text(text);
    } catch (const Error& why) {
        bad_key(file, "private", why);
    }
}

std::string PrivateKey::sign(std::string_view data) const {
    return key_text::encode(sign_digits(impl_->key.get(), md5_hex(data)));
}

std::string PrivateKey::sign_file(const std::filesystem::path& file) const {
    return key_text::encode(sign_digits(impl_->key.get(), md5_hex_of_file(file)));
}

PublicKey::PublicKey(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PublicKey::PublicKey(PublicKey&&) noexcept = default;
PublicKey& PublicKey::operator=(PublicKey&&) noexcept = default;
PublicKey::~PublicKey() = default;

PublicKey PublicKey::from_text(std::string_view text) {
    auto impl = std::make_unique<Impl>();
    impl->key = key_from_text(text, key_text::kPublicSizes, kPublicNames, EVP_PKEY_PUBLIC_KEY);
    return PublicKey(std::move(impl));
}

PublicKey PublicKey::read(const std::filesystem::path& file) {
    const std::string text = key_file_text(file, "public");
    try {
        return from_text(text);
    } catch (const Error& why) {
        bad_key(file, "public", why);
    }
}

bool PublicKey::verify(std::string_view data, std::string_view signature_hex) const {
    const Bytes signature = key_text::decode(signature_hex);
    return signature.size() == key_text::kModulusBytes && signed_digits(impl_->key.get(), signature) == md5_hex(data);
}

KeyPairText generate_key_pair() {
    init_openssl();
    const KeyPtr key(EVP_RSA_gen(1024));
    if (!key) openssl_failed("make a key pair");
    return {text_of(key.get(), key_text::kPrivateSizes, kPrivateNames),
            text_of(key.get(), key_text::kPublicSizes, kPublicNames)};
}

}  // namespace sluice
