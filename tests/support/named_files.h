// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What becomes of the files of some folders, as the kernel tells it.
#include <limits.h>
#include <sys/inotify.h>

#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "sluice/base/files.h"

namespace sluice::test {

/// From its making on. Who starts a program at the moment when that is open for writing gets ETXTBSY.
class NamedFiles {
  public:
    explicit NamedFiles(const std::vector<std::filesystem::path>& folders)
        : events_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
        for (const auto& folder : folders) {
            const int watch = ::inotify_add_watch(events_.get(), folder.c_str(), IN_MOVED_TO | IN_CLOSE_WRITE);
            if (watch < 0) throw std::runtime_error("inotify can't watch " + folder.string());
            folders_[watch] = folder;
        }
    }
    /// Files that were put into place by a rename.
    const std::set<std::string>& named() { return read(), named_; }
    /// Those that were still open for writing then, or were written in their place.
    const std::set<std::string>& open_in_place() { return read(), open_; }

  private:
    void read() {
        alignas(inotify_event) char block[64 * (sizeof(inotify_event) + NAME_MAX + 1)];
        for (ssize_t n = 0; (n = ::read(events_.get(), block, sizeof block)) > 0;)
            for (ssize_t at = 0; at < n;) {
                const auto* const event = reinterpret_cast<const inotify_event*>(block + at);
                at += static_cast<ssize_t>(sizeof *event + event->len);
                if ((event->mask & IN_Q_OVERFLOW) != 0) throw std::runtime_error("inotify lost events");
                const std::string file = (folders_[event->wd] / event->name).string();
                if ((event->mask & IN_MOVED_TO) != 0)
                    named_.insert(file);
                else if (named_.contains(file))
                    open_.insert(file);
            }
    }
    OwnedFd events_;
    std::map<int, std::filesystem::path> folders_;
    std::set<std::string> named_, open_;
};

}  // namespace sluice::test
