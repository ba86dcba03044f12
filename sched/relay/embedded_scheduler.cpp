// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/relay/embedded_scheduler.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace sluice::relay {
namespace {

constexpr const char* kSection = ".scheduler";  // as in CMakeLists.txt

template <class T>
bool read_at(int file, std::size_t offset, T* to, std::size_t n) {
    const auto bytes = static_cast<ssize_t>(n * sizeof(T));
    return ::pread(file, to, static_cast<std::size_t>(bytes), static_cast<off_t>(offset)) == bytes;
}

/// Size 0: it is not there.
ElfW(Shdr) find_section(int file) {
    ElfW(Ehdr) header{};
    if (!read_at(file, 0, &header, 1) || header.e_shentsize != sizeof(ElfW(Shdr))) return {};
    std::vector<ElfW(Shdr)> sections(header.e_shnum);
    if (!read_at(file, header.e_shoff, sections.data(), sections.size()) || header.e_shstrndx >= sections.size())
        return {};
    std::string names(sections[header.e_shstrndx].sh_size, '\0');
    if (!read_at(file, sections[header.e_shstrndx].sh_offset, names.data(), names.size())) return {};
    for (const ElfW(Shdr) & section : sections)
        if (section.sh_name < names.size() && std::strcmp(&names[section.sh_name], kSection) == 0) return section;
    return {};
}

}  // namespace

void exec_embedded_scheduler(char** argv, char** environment) {
    const int self = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (self < 0) return;
    const ElfW(Shdr) section = find_section(self);
    if (section.sh_size == 0) {
        errno = ENOENT;
        return;
    }
    const int program = ::memfd_create("scheduler", MFD_CLOEXEC);
    auto at = static_cast<off_t>(section.sh_offset);
    for (std::size_t left = section.sh_size; left > 0;) {
        const ssize_t n = ::sendfile(program, self, &at, left);
        if (n <= 0) return;
        left -= static_cast<std::size_t>(n);
    }
    ::fexecve(program, argv, environment);
}

}  // namespace sluice::relay
