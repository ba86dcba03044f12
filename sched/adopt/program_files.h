// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The files of a move: what is replaced, kept and put back. The way back takes no room on the disk: it renames.
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// What has upstream's place, and what upstream does not have.
inline constexpr std::array kReplaced{"bin/feeder", "bin/transitioner", "bin/show_shmem", "cgi-bin/cgi",
                                      "cgi-bin/fcgi"};
inline constexpr std::array kNew{"bin/sched_explain", "bin/sluice_tune", "bin/scheduler"};

/// Of them, what the web server starts for a client.
inline constexpr std::array kWebPrograms{"cgi-bin/cgi", "cgi-bin/fcgi"};

/// As "bin/feeder". What is there and was not kept stays there, unless it is `added`: then it is ours.
struct MovedPrograms {
    std::vector<std::string> replaced, added;
};
/// `all`: every program of the installation, since none of the old ones can run here.
MovedPrograms moved_programs(const std::filesystem::path& project, const std::filesystem::path& prefix, bool all);

bool is_there(const std::filesystem::path& file);
/// Throws FileError with errno's words.
void require(bool done, const std::string& what, const std::filesystem::path& file);

/// In place of `to`, at once: what runs keeps the old program, and who has another name for it, too.
void copy_over(const std::filesystem::path& from, const std::filesystem::path& to);
/// The same, and `from` is gone: a rename, or a copy where they lie on different disks.
void move_over(const std::filesystem::path& from, const std::filesystem::path& to);

/// Puts back all that `kept` has but kWebPrograms, and removes our programs that had nobody's place. May be repeated.
void put_programs_back(const std::filesystem::path& kept, const std::filesystem::path& project,
                       const MovedPrograms& programs);
/// The same for kWebPrograms.
void put_web_programs_back(const std::filesystem::path& kept, const std::filesystem::path& project);
bool is_web_program(std::string_view name);

/// What a killed call was writing: hidden files whose names have `part`.
void remove_halves(const std::filesystem::path& folder, std::string_view part);

/// The daemon `scheduler` and the web server's account write one log. Upstream's cgi has made it as that account, and
/// may not keep the daemon out: it makes room for one of ours that the web server's account can write. That account is
/// in the old file's group, or in the folder's, by which it made the file. Throws FileError if this account can give
/// neither.
void share_log(const std::filesystem::path& folder);
/// Tries it, and leaves nothing changed. Throws as share_log().
void require_shareable_log(const std::filesystem::path& folder);

/// Bytes that a move needs beside what is there: copies of the old programs, ours, and the reserve.
std::uintmax_t room_for_move(const std::filesystem::path& project, const std::filesystem::path& prefix,
                             const MovedPrograms& programs);
std::uintmax_t free_room(const std::filesystem::path& folder);

/// A file that only takes room: removed, it leaves that to the small files of the way back. Throws FileError.
void make_reserve(const std::filesystem::path& file);

}  // namespace sluice
