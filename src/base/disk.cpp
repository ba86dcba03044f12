// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/disk.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "sluice/base/files.h"

namespace sluice {

std::string unmounted_above(const std::string& path) {
    return unmounted_above(path, read_file("/etc/fstab").value_or(""), read_file("/proc/self/mounts").value_or(""));
}

std::string unmounted_above(const std::string& path, const std::string& fstab, const std::string& mounts) {
    if (mounts.empty()) return "";
    std::istringstream table(fstab);
    for (std::string line; std::getline(table, line);) {
        std::istringstream words(line);
        std::string device, place, type, options;
        if (!(words >> device >> place >> type >> options) || device.starts_with('#') || place == "/") continue;
        const bool above = path == place || path.starts_with(place + "/");
        if (above && options.find("noauto") == options.npos && mounts.find(" " + place + " ") == mounts.npos)
            return place;
    }
    return "";
}

DiskFacts look_at_disk(const std::string& what, const std::string& path) {
    DiskFacts disk;
    disk.what = what;
    disk.path = path;
    disk.unmounted = unmounted_above(path);
    struct statvfs info {};
    if (::statvfs(path.c_str(), &info) != 0) {
        disk.error = std::strerror(errno);
        return disk;
    }
    disk.read_only = (info.f_flag & ST_RDONLY) != 0;
    const auto block = static_cast<double>(info.f_frsize);
    disk.free = static_cast<double>(info.f_bavail) * block;
    disk.total = static_cast<double>(info.f_blocks) * block;
    disk.free_inodes = static_cast<double>(info.f_favail);
    disk.total_inodes = static_cast<double>(info.f_files);
    return disk;
}

std::string why_unusable(const DiskFacts& disk) {
    if (!disk.error.empty()) return disk.path + ": " + disk.error;
    if (!disk.unmounted.empty()) return disk.path + ": nothing is mounted at " + disk.unmounted;
    return disk.read_only ? disk.path + ": the file system is read-only" : "";
}

}  // namespace sluice
