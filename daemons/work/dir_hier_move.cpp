// SPDX-License-Identifier: LGPL-3.0-or-later
// dir_hier_move: moves files from one folder into a hierarchy of fan-out folders. Upstream's program of that name.
#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>

#include <cerrno>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

/// What programs write beside an input file: it lies in that file's folder, whatever its own name.
std::string owner_of(const std::string& name, const std::set<std::string>& all) {
    for (const std::string_view suffix : {".md5", ".gz"})
        if (name.ends_with(suffix))
            if (const std::string owner = name.substr(0, name.size() - suffix.size()); all.contains(owner))
                return owner;
    return name;
}

/// All names, before the first file moves: source and target may be the same folder.
std::set<std::string> files_in(const fs::path& folder) {
    std::set<std::string> names;
    std::error_code ec;
    for (auto entry = fs::directory_iterator(folder, ec); !ec && entry != fs::end(entry); entry.increment(ec)) {
        const std::string name = entry->path().filename().string();
        std::error_code of_entry;
        if (!name.starts_with('.') && !fs::is_directory(entry->symlink_status(of_entry))) names.insert(name);
    }
    if (ec) throw FileError("can't read the folder " + folder.string() + ": " + ec.message());
    return names;
}

void move_file(const fs::path& from, const fs::path& to) {
    std::error_code ec;
    if (fs::create_directory(to.parent_path(), ec))
        fs::permissions(to.parent_path(), fs::perms(0755), fs::perm_options::add, ec);
    if (ec) throw FileError("can't make the folder " + to.parent_path().string() + ": " + ec.message());
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return;
    const std::string heads = "can't move " + from.string() + " to " + to.string() + ": ";
    if (errno == EEXIST) throw FileError(heads + "a file is there already; compare the two, and delete one");
    if (errno == EXDEV) throw FileError(heads + "both must lie in one file system");
    throw FileError(heads + file_problem(errno, from));
}

int move_all(const fs::path& from, const fs::path& to, int fanout) {
    if (!fs::is_directory(to)) throw FileError("there is no folder " + to.string());
    const std::set<std::string> names = files_in(from);
    for (const std::string& name : names)
        move_file(from / name, fanout_path(to, owner_of(name, names), fanout).parent_path() / name);
    fmt::print("{} files moved\n", names.size());
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    std::vector<std::string> words;
    CommandLine line(
        "dir_hier_move", "move files from a folder into a hierarchy of fan-out folders",
        "Moves each file of SRC to DST/HASH/FILE. Folders, and files whose name begins with a dot, stay. FILE.md5 and "
        "FILE.gz go with FILE. No file is overwritten. Stop the project first: its programs look for each file in "
        "one place only.");
    line.section("EXAMPLES", "dir_hier_move old_download download 1024");
    line.section("EXIT STATUS",
                 "0: all are moved. 1: one could not be; those before it are moved. It may be repeated.");
    line.positional("SRC DST FANOUT", words, "both folders, and <uldl_dir_fanout> of config.xml");
    return tool_main({"dir_hier_move"}, [&] {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        if (words.size() != 3) return line.fail("give SRC, DST and FANOUT");
        const auto fanout = parse_int(words[2]);
        if (!fanout || *fanout < 1 || *fanout > 1000000) return line.fail("FANOUT is a number from 1 to 1000000");
        return move_all(words[0], words[1], static_cast<int>(*fanout));
    });
}
