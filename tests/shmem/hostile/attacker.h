// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Somebody who has the web server's account: writes what he likes into every word that this account may write.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <stdexcept>

#include "sluice/base/process.h"
#include "sluice/base/rng.h"
#include "src/shmem/layout.h"

namespace sluice::test {

class Attacker {
  public:
    Attacker(const std::filesystem::path& claims, std::uint64_t seed) : rng_(make_seeded_rng(seed)) {
        fd_ = ::open(claims.c_str(), O_RDWR | O_CLOEXEC);
        struct stat info {};
        if (fd_ < 0 || ::fstat(fd_, &info) != 0) throw std::runtime_error("can't open " + claims.string());
        count_ = static_cast<std::size_t>(info.st_size) / sizeof(Word);
        void* at = ::mmap(nullptr, count_ * sizeof(Word), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        if (at == MAP_FAILED) throw std::runtime_error("can't map " + claims.string());
        words_ = static_cast<Word*>(at);
    }
    Attacker(const Attacker&) = delete;
    Attacker& operator=(const Attacker&) = delete;
    ~Attacker() {
        ::munmap(words_, count_ * sizeof(Word));
        ::close(fd_);
    }
    std::size_t words() const { return count_; }
    void write(std::size_t word) { words_[word].store(value(word)); }
    void write_anywhere() { write(rng_->below(count_)); }
    /// The file becomes shorter or longer.
    void resize(std::uint64_t bytes) const {
        if (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0) throw std::runtime_error("can't cut the claims");
    }

  private:
    using Word = std::atomic<std::uint64_t>;

    /// Noise, extremes, what stands elsewhere, and what looks like a state word of this slot or another.
    std::uint64_t value(std::size_t word) {
        using namespace shm;
        const std::uint64_t old = words_[word].load(), other = words_[rng_->below(count_)].load();
        const auto owner = static_cast<std::uint32_t>(rng_->below(0x10000));
        switch (rng_->below(12)) {
            case 0: return 0;
            case 1: return ~std::uint64_t{0};
            case 2: return rng_->next();
            case 3: return other;
            case 4: return old ^ std::uint64_t{1} << rng_->below(64);
            case 5: return with_state(old, 0, WordState::kPresent);
            case 6: return with_state(old, 0, WordState::kEmpty);
            case 7: return with_state(old, owner, WordState::kClaimed);
            case 8: return with_state(other, owner, WordState::kPresent);
            case 9: return make_word(rng_->below(1000), 0, WordState::kPresent);
            case 10: return pack_owner(this_process());
            default: return old + rng_->below(5) - 2;
        }
    }

    std::unique_ptr<Rng> rng_;
    int fd_ = -1;
    std::size_t count_ = 0;
    Word* words_ = nullptr;
};

}  // namespace sluice::test
