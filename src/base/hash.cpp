#include "sluice/base/hash.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "sluice/base/error.h"

namespace sluice {
namespace {

std::string hex(const unsigned char* bytes, std::size_t n) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    out.reserve(2 * n);
    for (std::size_t i = 0; i < n; ++i) out += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
    return out;
}

/// Fetched once: a fetch searches OpenSSL's providers. Without the machine's openssl.cnf, which costs time to
/// read and may forbid MD5.
const EVP_MD* md5_algorithm() {
    static const EVP_MD* const algorithm = [] {
        OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
        return EVP_MD_fetch(nullptr, "MD5", nullptr);
    }();
    if (algorithm == nullptr)
        throw Error("OpenSSL on this machine has no MD5, which BOINC's file checksums need");
    return algorithm;
}

class Md5 {
  public:
    Md5() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
        if (!context_ || EVP_DigestInit_ex2(context_.get(), md5_algorithm(), nullptr) != 1) fail();
    }
    void add(const void* data, std::size_t size) {
        if (EVP_DigestUpdate(context_.get(), data, size) != 1) fail();
    }
    std::string hex_digest() {
        std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
        unsigned size = 0;
        if (EVP_DigestFinal_ex(context_.get(), digest.data(), &size) != 1) fail();
        return hex(digest.data(), size);
    }

  private:
    [[noreturn]] static void fail() { throw Error("OpenSSL could not compute an MD5"); }
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string md5_hex(std::string_view data) {
    Md5 md5;
    md5.add(data.data(), data.size());
    return md5.hex_digest();
}

std::string md5_hex_of_file(const std::filesystem::path& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const auto fail = [&] { throw FileError("Can't read " + path.string() + ": " + std::strerror(errno)); };
    if (fd < 0) fail();
    const std::unique_ptr<const int, void (*)(const int*)> closer(&fd, [](const int* p) { ::close(*p); });
    Md5 md5;
    std::vector<char> block(std::size_t{256} << 10);
    for (;;) {
        const ssize_t n = ::read(fd, block.data(), block.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail();
        if (n == 0) return md5.hex_digest();
        md5.add(block.data(), static_cast<std::size_t>(n));
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
