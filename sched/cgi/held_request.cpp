// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/held_request.h"

#include <sys/mman.h>

#include <cerrno>

#include "sluice/base/write_all.h"

namespace sluice {
bool HeldRequest::append_params(std::string_view bytes) {
    if (!append(bytes)) return false;
    params_ += bytes.size();
    return true;
}

bool HeldRequest::append_body(std::string_view bytes) { return append(bytes); }

bool HeldRequest::append(std::string_view bytes) {
    if (file_.get() < 0 && size_ + bytes.size() > kInMemory && !move_to_file()) return false;
    if (file_.get() < 0) {
        memory_.append(bytes);
    } else if (!write_all(file_.get(), bytes)) {
        return false;
    }
    size_ += bytes.size();
    return true;
}

void HeldRequest::keep_beginning(std::size_t bytes) {
    const std::size_t most = params_ + bytes;
    if (size_ <= most) return;
    if (file_.get() < 0) {
        memory_.resize(most);
    } else if (::ftruncate(file_.get(), static_cast<off_t>(most)) != 0 ||
               ::lseek(file_.get(), static_cast<off_t>(most), SEEK_SET) < 0) {
        return;  // it stays longer than it need be
    }
    size_ = most;
}

bool HeldRequest::move_to_file() {
    OwnedFd made(::memfd_create("sluice request", MFD_CLOEXEC));
    if (made.get() < 0 || !write_all(made.get(), memory_)) return false;
    file_ = std::move(made);
    std::string().swap(memory_);
    return true;
}

}  // namespace sluice
