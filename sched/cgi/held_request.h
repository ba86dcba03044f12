// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A request on its way in: parameters, then the body, held until all is there. Small ones lie in memory, which is
// quicker to hand on. Long ones lie in a nameless file of the kernel's: the worker gets that file without a copy; it is
// gone with its last holder.
#include <cstddef>
#include <string>
#include <string_view>

#include "sluice/base/files.h"

namespace sluice {

class HeldRequest {
  public:
    static constexpr std::size_t kInMemory = 64 * 1024;

    /// False: the system has no room for it.
    bool append_params(std::string_view bytes);
    bool append_body(std::string_view bytes);
    /// Forgets what of the body is behind its first `bytes`.
    void keep_beginning(std::size_t bytes);
    std::size_t params_size() const { return params_; }
    std::size_t body_size() const { return size_ - params_; }
    std::size_t size() const { return size_; }
    /// A file that begins with the parameters; the body follows. -1: memory() has them. Stays this object's.
    int file() const { return file_.get(); }
    /// Empty where there is a file.
    std::string_view memory() const { return memory_; }

  private:
    bool append(std::string_view bytes);
    bool move_to_file();
    std::string memory_;
    OwnedFd file_;
    std::size_t params_ = 0, size_ = 0;
};

}  // namespace sluice
