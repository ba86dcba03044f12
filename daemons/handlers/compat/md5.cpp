// SPDX-License-Identifier: LGPL-3.0-or-later
// MD5 (RFC 1321), here so that projects' programs need no further library.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>

#include "include/sluice/compat/error_numbers.h"
#include "include/sluice/compat/md5_file.h"
#include "include/sluice/compat/sched_util_basic.h"

namespace {

struct Md5Round {
    std::array<std::uint32_t, 64> sines{};
    Md5Round() {
        for (std::size_t i = 0; i < 64; ++i)
            sines[i] =
                static_cast<std::uint32_t>(std::floor(std::fabs(std::sin(static_cast<double>(i + 1))) * 4294967296.0));
    }
};

class Md5Sum {
  public:
    void add(const unsigned char* data, std::size_t n) {
        total_ += n;
        if (kept_ > 0) {
            const std::size_t taken = std::min(n, sizeof block_ - kept_);
            std::memcpy(block_ + kept_, data, taken);
            kept_ += taken;
            data += taken;
            n -= taken;
            if (kept_ < sizeof block_) return;
            mix(block_);
            kept_ = 0;
        }
        for (; n >= sizeof block_; data += sizeof block_, n -= sizeof block_) mix(data);
        std::memcpy(block_, data, n);
        kept_ = n;
    }
    std::string digits() {
        const std::uint64_t bits = total_ * 8;
        const unsigned char end = 0x80, zero = 0;
        add(&end, 1);
        while (kept_ != 56) add(&zero, 1);
        add(reinterpret_cast<const unsigned char*>(&bits), sizeof bits);
        char text[33];
        for (std::size_t i = 0; i < 16; ++i)
            std::snprintf(text + 2 * i, 3, "%02x", (state_[i / 4] >> (8 * (i % 4))) & 255U);
        return text;
    }

  private:
    void mix(const unsigned char* block) {
        static const Md5Round constants;
        static constexpr unsigned kShift[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
        std::uint32_t word[16];
        std::memcpy(word, block, sizeof word);  // little-endian, as all machines that run Sluice
        auto [a, b, c, d] = state_;
        for (unsigned i = 0; i < 64; ++i) {
            std::uint32_t f = 0;
            unsigned g = 0;
            switch (i / 16) {
                case 0: f = (b & c) | (~b & d), g = i; break;
                case 1: f = (d & b) | (~d & c), g = (5 * i + 1) % 16; break;
                case 2: f = b ^ c ^ d, g = (3 * i + 5) % 16; break;
                default: f = c ^ (b | ~d), g = (7 * i) % 16; break;
            }
            f += a + constants.sines[i] + word[g];
            const unsigned shift = kShift[i / 16][i % 4];
            a = d, d = c, c = b;
            b += (f << shift) | (f >> (32 - shift));
        }
        state_[0] += a, state_[1] += b, state_[2] += c, state_[3] += d;
    }

    std::array<std::uint32_t, 4> state_{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    unsigned char block_[64]{};
    std::size_t kept_ = 0;
    std::uint64_t total_ = 0;
};

}  // namespace

int md5_file(const char* path, char* digits, double& bytes, bool is_gzip) {
    FILE* opened = nullptr;
    if (const int error = try_fopen(path, opened, "re")) return error;
    const std::unique_ptr<FILE, int (*)(FILE*)> file(opened, std::fclose);
    unsigned char buffer[16384];
    if (is_gzip) {
        if (std::fread(buffer, 1, 10, opened) != 10) return ERR_BAD_FORMAT;
        if (buffer[0] != 0x1f || buffer[1] != 0x8b || buffer[2] != 8) return ERR_BAD_FORMAT;
    }
    Md5Sum md5;
    bytes = 0;
    while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, opened)) {
        md5.add(buffer, n);
        bytes += static_cast<double>(n);
    }
    if (std::ferror(opened) != 0) return ERR_READ;
    std::strcpy(digits, md5.digits().c_str());
    return 0;
}

int md5_block(const unsigned char* data, int bytes, char* digits, const unsigned char* more, int more_bytes) {
    Md5Sum md5;
    md5.add(data, static_cast<std::size_t>(bytes));
    if (more != nullptr) md5.add(more, static_cast<std::size_t>(more_bytes));
    std::strcpy(digits, md5.digits().c_str());
    return 0;
}

std::string md5_string(const unsigned char* data, int bytes) {
    char digits[MD5_LEN];
    md5_block(data, bytes, digits);
    return digits;
}
