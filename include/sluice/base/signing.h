// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// BOINC's RSA signatures: 1024 bit, PKCS#1 v1.5 type 1 padding over the 32 ASCII hex digits of an MD5 (no
// DigestInfo). Key and signature texts as upstream has them: hex digits, 64 a line.
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace sluice {

class PrivateKey {
  public:
    /// From a key file in upstream's hex text. Throws ConfigError naming the file and what to do.
    static PrivateKey read(const std::filesystem::path& file);
    static PrivateKey from_text(std::string_view text);
    PrivateKey(PrivateKey&&) noexcept;
    PrivateKey& operator=(PrivateKey&&) noexcept;
    ~PrivateKey();
    /// Signature of md5(data) as hex text: 4 lines of 64 digits, then "." — each line ends with '\n'.
    std::string sign(std::string_view data) const;
    std::string sign_file(const std::filesystem::path& file) const;

  private:
    struct Impl;
    explicit PrivateKey(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

class PublicKey {
  public:
    static PublicKey read(const std::filesystem::path& file);
    static PublicKey from_text(std::string_view text);
    PublicKey(PublicKey&&) noexcept;
    PublicKey& operator=(PublicKey&&) noexcept;
    ~PublicKey();
    /// True if `signature_hex` (white space and the final "." tolerated) signs md5(data).
    bool verify(std::string_view data, std::string_view signature_hex) const;

  private:
    struct Impl;
    explicit PublicKey(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

struct KeyPairText {
    std::string private_key;  ///< upstream's text, 24 lines
    std::string public_key;   ///< upstream's text, 10 lines, 527 bytes
};
/// A new 1024-bit pair, exponent 65537.
KeyPairText generate_key_pair();

}  // namespace sluice
