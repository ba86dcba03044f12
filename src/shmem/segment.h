#pragma once
// A named piece of shared memory of Boost.Interprocess, with what Boost leaves open: memory is allocated when the
// segment is sized (no SIGBUS when /dev/shm is full), every mapping is checked against the real size (no SIGBUS on a
// truncated file), and its identity tells whether a name still leads to it.
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
    /// Throws ShmemError: the name is taken, or there is not enough memory (says how much).
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

    /// Appends memory; the error's text if there is none left.
    std::optional<std::string> grow_to(std::uint64_t bytes);
    /// Maps a part for the life of this object. Throws ShmemError if the file is shorter than that.
    void* map(std::uint64_t offset, std::uint64_t bytes);
    std::uint64_t file_bytes() const;
    SegmentIdentity identity() const;
    int descriptor() const;
    const std::string& name() const;

  private:
    struct Impl;
    explicit Segment(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::shm
