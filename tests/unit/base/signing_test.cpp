// SPDX-License-Identifier: LGPL-3.0-or-later
// Signatures are checked against bare modular exponentiation: what BOINC's clients do, without our code or
// OpenSSL's padding in between.
#include "sluice/base/signing.h"

#include <gtest/gtest.h>
#include <openssl/bn.h>

#include <algorithm>

#include "sluice/base/error.h"
#include "sluice/base/hash.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

/// The code-signing key that an upstream server sent to its clients, and the signature of a file of its.
constexpr const char* kUpstreamPublicKey =
    "1024\n"
    "e0e1d894b979f8f0e8fc10263a4cf9ef4d0df64f7c94da11cbfc4ec0bc5d0941\n"
    "66625ab032c7edce72652a52e8d0acfc5cbdda72575163df15fbdd172daf105a\n"
    "31751a563cb810caa80902aa28b2cc78e4961cfec3344c2f51a9f0b8d5f0655d\n"
    "0ecaed6df6e180a5cece2aaa30dac2fe2722dbf1c78b2e562676a1579a657d3d\n"
    "0000000000000000000000000000000000000000000000000000000000000000\n"
    "0000000000000000000000000000000000000000000000000000000000000000\n"
    "0000000000000000000000000000000000000000000000000000000000000000\n"
    "0000000000000000000000000000000000000000000000000000000000010001\n"
    ".\n";
constexpr const char* kUpstreamSignature =
    "99fef711bf75ce41a1a190a2df3d40b3c8c236f43a0bf78a8e3b896c040c2627\n"
    "1755c182a1587c095f7c2ab065c445790fee8adfd8d4dcf67f5d6366ef6af574\n"
    "b919bbd2deb5bb73d19f80bbfb70f7bd1ff3a15904f54daa2e771479a6bba077\n"
    "1b07e83b3766c52910576d96737ce71498d9893fe7455865a676b6ba613bdce1\n"
    ".\n";

/// One key pair for all tests: making one takes a while.
const KeyPairText& pair() {
    static const KeyPairText keys = generate_key_pair();
    return keys;
}

/// The digits of a key or signature text from hex position `begin`, `n` bytes.
std::string digits(std::string text, std::size_t begin, std::size_t n) {
    if (text.starts_with("1024\n")) text.erase(0, 5);
    std::erase(text, '\n');
    return text.substr(2 * begin, 2 * n);
}

/// base ^ exponent mod modulus, all hex, as 256 digits.
std::string power(const std::string& base, const std::string& exponent, const std::string& modulus) {
    BIGNUM *b = nullptr, *e = nullptr, *m = nullptr, *r = BN_new();
    BN_CTX* context = BN_CTX_new();
    BN_hex2bn(&b, base.c_str());
    BN_hex2bn(&e, exponent.c_str());
    BN_hex2bn(&m, modulus.c_str());
    EXPECT_EQ(BN_mod_exp(r, b, e, m, context), 1);
    char* hex = BN_bn2hex(r);
    std::string out = hex;
    OPENSSL_free(hex);
    for (BIGNUM* number : {b, e, m, r}) BN_free(number);
    BN_CTX_free(context);
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
    return std::string(256 - out.size(), '0') + out;
}

std::string hex_of(const std::string& text) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (const unsigned char c : text) out += {kDigits[c >> 4], kDigits[c & 15]};
    return out;
}

/// 00 01 ff … ff 00 and the 32 hex digits themselves: 128 bytes.
std::string padded(const std::string& md5) { return "0001" + std::string(2 * 93, 'f') + "00" + hex_of(md5); }

std::string modulus(const std::string& key) { return digits(key, 0, 128); }

TEST(Signing, TextsHaveUpstreamsShape) {
    EXPECT_EQ(pair().public_key.size(), 527u);
    EXPECT_EQ(std::count(pair().public_key.begin(), pair().public_key.end(), '\n'), 10);
    EXPECT_EQ(std::count(pair().private_key.begin(), pair().private_key.end(), '\n'), 24);
    EXPECT_EQ(digits(pair().public_key, 128, 128), std::string(250, '0') + "010001");
    EXPECT_EQ(modulus(pair().public_key), modulus(pair().private_key));
    EXPECT_THAT(pair().private_key, testing::EndsWith("\n.\n"));
    const std::string signature = PrivateKey::from_text(pair().private_key).sign("data");
    EXPECT_EQ(signature.size(), 4u * 65 + 2);
    EXPECT_EQ(signature.find_first_not_of("0123456789abcdef\n."), std::string::npos);
    EXPECT_EQ(signature[64], '\n');
}

TEST(Signing, OursIsWhatBareArithmeticGives) {
    const std::string data = "<name>uc_0_r123_0</name><max_nbytes>1000</max_nbytes>";
    const std::string signature = PrivateKey::from_text(pair().private_key).sign(data);
    const std::string n = modulus(pair().private_key), private_exponent = digits(pair().private_key, 256, 128);
    EXPECT_EQ(digits(signature, 0, 128), power(padded(md5_hex(data)), private_exponent, n));
    EXPECT_EQ(power(digits(signature, 0, 128), "010001", n), padded(md5_hex(data)));
}

TEST(Signing, ASignatureMadeByBareArithmeticIsAccepted) {
    const std::string signature =
        power(padded(md5_hex("abc")), digits(pair().private_key, 256, 128), modulus(pair().private_key));
    const PublicKey key = PublicKey::from_text(pair().public_key);
    EXPECT_TRUE(key.verify("abc", signature));
    EXPECT_FALSE(key.verify("abd", signature));
}

TEST(Signing, UpstreamsKeyAndSignatureAreOfSameKind) {
    const std::string recovered = power(digits(kUpstreamSignature, 0, 128), "010001", modulus(kUpstreamPublicKey));
    EXPECT_EQ(recovered.substr(0, 192), "0001" + std::string(2 * 93, 'f') + "00");
    EXPECT_FALSE(PublicKey::from_text(kUpstreamPublicKey).verify("some other file", kUpstreamSignature));
}

TEST(Signing, VerifyToleratesWhiteSpaceAndNothingElse) {
    const PrivateKey private_key = PrivateKey::from_text(pair().private_key);
    const PublicKey key = PublicKey::from_text(pair().public_key);
    const std::string good = private_key.sign("data");
    std::string spaced = "\n  " + good;
    std::replace(spaced.begin() + 5, spaced.end() - 2, '\n', ' ');
    EXPECT_TRUE(key.verify("data", good));
    EXPECT_TRUE(key.verify("data", spaced));
    EXPECT_TRUE(key.verify("data", good.substr(0, good.size() - 2)));
    for (const std::string& bad :
         {std::string(), std::string("."), good.substr(0, 200), good.substr(0, 130) + "00" + good.substr(130),
          std::string(256, 'f'), std::string(256, '0'), "x" + good}) {
        EXPECT_FALSE(key.verify("data", bad)) << bad;
    }
    std::string flipped = good;
    flipped[10] = flipped[10] == '0' ? '1' : '0';
    EXPECT_FALSE(key.verify("data", flipped));
}

TEST(Signing, AnotherKeyDoesNotVerify) {
    EXPECT_FALSE(PublicKey::from_text(generate_key_pair().public_key)
                     .verify("data", PrivateKey::from_text(pair().private_key).sign("data")));
}

/// A public key of other numbers.
std::string public_key(const std::string& modulus, const std::string& exponent) {
    return "1024\n" + modulus + exponent + "\n.\n";
}

/// Exponents of the whole length, too: with a key's exponents the other way round.
TEST(Signing, ManyKeysAndLongExponents) {
    for (int i = 0; i < 8; ++i) {
        const KeyPairText keys = generate_key_pair();
        const std::string data = "data " + std::to_string(i), n = modulus(keys.private_key);
        EXPECT_TRUE(
            PublicKey::from_text(keys.public_key).verify(data, PrivateKey::from_text(keys.private_key).sign(data)));
        const PublicKey turned = PublicKey::from_text(public_key(n, digits(keys.private_key, 256, 128)));
        EXPECT_TRUE(turned.verify(data, power(padded(md5_hex(data)), "010001", n)));
        EXPECT_FALSE(turned.verify(data + "x", power(padded(md5_hex(data)), "010001", n)));
    }
}

TEST(Signing, AnyOtherPaddingIsRefused) {
    const std::string n = modulus(pair().private_key), private_exponent = digits(pair().private_key, 256, 128);
    const std::string right = padded(md5_hex("abc")), text = hex_of(md5_hex("abc"));
    const PublicKey key = PublicKey::from_text(pair().public_key);
    ASSERT_TRUE(key.verify("abc", power(right, private_exponent, n)));
    for (const std::string& wrong :
         {"0002" + right.substr(4), "0000" + right.substr(4), right.substr(0, 4) + "fe" + right.substr(6),
          right.substr(0, 190) + "01" + right.substr(192),
          "0001" + std::string(16, 'f') + "00" + text + right.substr(86),
          "0001" + std::string(2 * 92, 'f') + "00" + text + "00"}) {
        ASSERT_EQ(wrong.size(), 256u);
        EXPECT_FALSE(key.verify("abc", power(wrong, private_exponent, n))) << wrong;
    }
}

TEST(Signing, ASignatureBeyondTheModulusIsRefused) {
    KeyPairText keys = pair();
    while (modulus(keys.private_key)[0] > 'd') keys = generate_key_pair();  // so that signature + modulus often fits
    BIGNUM* n = nullptr;
    BN_hex2bn(&n, modulus(keys.private_key).c_str());
    int tried = 0;
    for (int i = 0; i < 200; ++i) {
        const std::string data = std::to_string(i);
        const std::string signature = PrivateKey::from_text(keys.private_key).sign(data);
        BIGNUM* s = nullptr;
        BN_hex2bn(&s, digits(signature, 0, 128).c_str());
        BN_add(s, s, n);
        char* hex = BN_bn2hex(s);
        const std::string beyond = hex;
        OPENSSL_free(hex);
        BN_free(s);
        if (beyond.size() != 256) continue;
        ++tried;
        EXPECT_TRUE(PublicKey::from_text(keys.public_key).verify(data, signature));
        EXPECT_FALSE(PublicKey::from_text(keys.public_key).verify(data, beyond));
    }
    BN_free(n);
    EXPECT_GT(tried, 0);
}

TEST(Signing, NumbersThatAreNoKeyAreRefused) {
    const std::string n = modulus(pair().public_key), e = digits(pair().public_key, 128, 128);
    EXPECT_NO_THROW(PublicKey::from_text(public_key(n, e)));
    EXPECT_THROW(PublicKey::from_text(public_key(n.substr(0, 255) + "0", e)), ConfigError);  // even
    EXPECT_THROW(PublicKey::from_text(public_key(n, std::string(256, '0'))), ConfigError);
    EXPECT_THROW(PublicKey::from_text(public_key("0" + n.substr(1), e)), ConfigError);  // too short
}

TEST(Signing, FilesByTheirContent) {
    const test::TempDir dir;
    const PrivateKey key = PrivateKey::from_text(pair().private_key);
    EXPECT_EQ(key.sign_file(dir.write("f", "content")), key.sign("content"));
    EXPECT_THROW(key.sign_file(dir / "none"), FileError);
}

TEST(Signing, KeyFilesThatAreWrongAreNamed) {
    const test::TempDir dir;
    const std::string good = pair().private_key;
    std::string damaged = good;  // one digit of the modulus
    damaged[5 + 2 * 65] = damaged[5 + 2 * 65] == '0' ? '1' : '0';
    const std::pair<std::string, const char*> cases[] = {{"", "first line"},
                                                         {"2048\n" + good.substr(5), "1024"},
                                                         {good.substr(0, 900), "704 bytes"},
                                                         {pair().public_key, "704 bytes"},
                                                         {damaged, "do not belong together"},
                                                         {"1024\n.\n", "704 bytes"}};
    for (const auto& [text, expected] : cases) {
        try {
            PrivateKey::read(dir.write("bad_key", text));
            ADD_FAILURE() << "accepted: " << text;
        } catch (const ConfigError& e) {
            EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("bad_key"), testing::HasSubstr(expected)));
        }
    }
    try {
        PublicKey::read(dir / "none");
        ADD_FAILURE();
    } catch (const ConfigError& e) {
        EXPECT_THAT(e.what(), testing::HasSubstr("crypt_prog -genkey"));
    }
    EXPECT_THROW(PublicKey::from_text(pair().private_key), ConfigError);
    EXPECT_NO_THROW(PublicKey::read(dir.write("good", pair().public_key)));
    EXPECT_NO_THROW(PrivateKey::read(dir.write("good", good)));
}

TEST(Signing, WindowsLineEndsAreTolerated) {
    std::string text;
    for (const char c : pair().public_key) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
    EXPECT_TRUE(PublicKey::from_text(text).verify("x", PrivateKey::from_text(pair().private_key).sign("x")));
}

}  // namespace
}  // namespace sluice
