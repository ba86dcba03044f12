// SPDX-License-Identifier: LGPL-3.0-or-later
// OpenSSL's low-level MD5. The EVP interface first sets up its providers, which costs every CGI process 1 ms of CPU
// (OpenSSL 3.0); and a machine's policy may forbid MD5 there. Here MD5 is BOINC's checksum, not security.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "sluice/base/hash.h"

#include <fcntl.h>
#include <openssl/md5.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/base/files.h"

namespace sluice {

std::string hex(const unsigned char* bytes, std::size_t n) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    out.reserve(2 * n);
    for (std::size_t i = 0; i < n; ++i) out += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
    return out;
}

namespace {

class Md5 {
  public:
    Md5() { MD5_Init(&context_); }
    void add(const void* data, std::size_t size) { MD5_Update(&context_, data, size); }
    std::string hex_digest() {
        std::array<unsigned char, MD5_DIGEST_LENGTH> digest{};
        MD5_Final(digest.data(), &context_);
        return hex(digest.data(), digest.size());
    }

  private:
    MD5_CTX context_{};
};

}  // namespace

std::string md5_hex(std::string_view data) {
    Md5 md5;
    md5.add(data.data(), data.size());
    return md5.hex_digest();
}

namespace {

[[noreturn]] void cant_read(const std::filesystem::path& path) {
    throw FileError("Can't read " + path.string() + ": " + file_problem(errno, path));
}

/// A byte more than the file has, so that its end is seen at once. Most are small, and a fresh block of the whole size
/// would cost them more than all the rest.
std::size_t block_size(int fd) {
    constexpr std::size_t kLeast = 4096, kMost = std::size_t{256} << 10;
    struct stat file {};
    if (::fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) return kMost;
    return static_cast<std::size_t>(std::clamp<std::int64_t>(file.st_size, kLeast - 1, kMost - 1)) + 1;
}

}  // namespace

std::string md5_hex_of_file(const std::filesystem::path& path) {
    const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) cant_read(path);
    return md5_hex_of(file.get(), path);
}

std::string md5_hex_of(int fd, const std::filesystem::path& name, MaskedRange ignored) {
    Md5 md5;
    std::vector<char> block(block_size(fd));
    for (std::size_t at = 0;;) {
        const ssize_t n = ::read(fd, block.data(), block.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) cant_read(name);
        if (n == 0) return md5.hex_digest();
        const auto size = static_cast<std::size_t>(n);
        for (std::size_t i = std::max(at, ignored.from); i < std::min(at + size, ignored.to); ++i) block[i - at] = 0;
        md5.add(block.data(), size);
        at += size;
    }
}

std::string random_hex(int n_bytes) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(n_bytes < 0 ? 0 : n_bytes));
    std::size_t have = 0;
    while (have < bytes.size()) {
        const ssize_t n = getrandom(bytes.data() + have, bytes.size() - have, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw Error(std::string("The kernel gives no random bytes: ") + std::strerror(errno));
        have += static_cast<std::size_t>(n);
    }
    return hex(bytes.data(), bytes.size());
}

}  // namespace sluice
