// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Who may write a file may also cut it, and reading a mapping beyond the end of its file is a SIGBUS. A guarded piece
// of memory gets pages of zeroes instead, and remembers that it was damaged; other SIGBUSes do as before.
#include <cstddef>

namespace sluice {

class BusGuard {
  public:
    /// Guards a mapping for the life of this object, which must end before the mapping does.
    BusGuard(void* at, std::size_t bytes);
    BusGuard(BusGuard&& other) noexcept;
    BusGuard& operator=(BusGuard&&) = delete;
    ~BusGuard();
    /// Its file was cut: what is read there is zero, what is written there nobody sees.
    bool hit() const;

  private:
    int place_ = -1;  ///< -1: all places are taken, and the mapping is not guarded
};

}  // namespace sluice
