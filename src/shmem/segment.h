// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A growing file of shared memory of Boost.Interprocess, with what Boost leaves open: memory is allocated when the
// file is sized (no SIGBUS when /dev/shm is full), every mapping is checked against the real size and guarded against
// a later cut (no SIGBUS on a truncated file), and its identity tells whether a name still leads to it.
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sluice::shm {

struct SegmentIdentity {
    std::uint64_t device = 0, inode = 0;
    friend bool operator==(const SegmentIdentity&, const SegmentIdentity&) = default;
};

class Segment {
  public:
    /// Throws NoSharedMemory: there is not enough (says how much). ShmemError: the name is taken, …
    static Segment create(const std::string& name, std::uint64_t bytes);
    /// nullopt: no segment of that name. Throws ShmemError: no permission (names the owner), …
    static std::optional<Segment> open(const std::string& name, bool writable);
    /// False: it exists and could not be removed (errno tells why).
    static bool remove(const std::string& name);
    static std::optional<SegmentIdentity> identity_of(const std::string& name);
    static std::string path_of(const std::string& name);

    Segment(Segment&&) noexcept;
    Segment& operator=(Segment&&) noexcept;
    ~Segment();

    /// Appends memory from byte `have` to byte `bytes`; the error's text if there is none left.
    std::optional<std::string> grow(std::uint64_t have, std::uint64_t bytes);
    /// Gives the memory from a page on back, also where others have it mapped: they read zeroes there.
    void free_memory(std::uint64_t from, std::uint64_t bytes);
    /// Maps a part for the life of this object; `offset` begins a page. Throws ShmemError if the file is shorter.
    void* map(std::uint64_t offset, std::uint64_t bytes);
    /// A mapped part was cut off by somebody who may write the file: it reads as zeroes now.
    bool damaged() const;
    std::uint64_t file_bytes() const;
    SegmentIdentity identity() const;
    uid_t owner() const;
    int descriptor() const;
    const std::string& name() const;

  private:
    struct Impl;
    explicit Segment(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::shm
