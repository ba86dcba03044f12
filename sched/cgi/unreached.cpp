// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/unreached.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "sched/cgi/relay_protocol.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

enum class WhoseTurn { kOurs, kTaken, kNoPlace };

/// The time of a file is that of the last line. Nobody waits for its lock: who has it writes the line.
WhoseTurn take_turn(const fs::path& file, std::time_t now) {
    constexpr std::time_t kHour = 3600;
    const OwnedFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0660));
    struct stat info {};
    if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return WhoseTurn::kNoPlace;
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 || ::fstat(fd.get(), &info) != 0) return WhoseTurn::kTaken;
    const bool is_new = info.st_size == 0;
    if (!is_new && info.st_mtime <= now && now - info.st_mtime < kHour) return WhoseTurn::kTaken;
    // A byte, not futimens(): that is for the owner, and the web server's account may be another one by now.
    return ::pwrite(fd.get(), "x", 1, 0) == 1 ? WhoseTurn::kOurs : WhoseTurn::kNoPlace;
}

/// Where the web server's account may make a file.
WhoseTurn take_turn(const fs::path& project) {
    WhoseTurn turn = WhoseTurn::kNoPlace;
    for (const fs::path& folder : {project / "html/cache", log_dir(project)})
        if (turn == WhoseTurn::kNoPlace) turn = take_turn(folder / "scheduler_unreached", std::time(nullptr));
    return turn;
}

std::string reason(int error) {
    switch (error) {
        case EPERM: return "it is of an account that is neither the project's nor root";
        case ECONNRESET:
            return "it turned this account away: it is ending, or the account is not in the socket's group";
        case EPROTO: return "it is of another version";
        case ETIMEDOUT: return "it does not answer";
        default: return fmt::format("{} (errno {})", std::strerror(error), error);
    }
}

}  // namespace

ConnectFailure connect_failure(const fs::path& project, int error, const SystemUser& web) {
    std::error_code ignored;
    const fs::path root = fs::canonical(project, ignored);
    const fs::path folder = root / (relay::kSocketFolder + short_host_name()), socket = folder / relay::kSocket;
    struct stat info {};
    ::stat(root.c_str(), &info);
    const std::string owner = user_name(info.st_uid);
    const auto run = [&](const char* name) {
        return "sudo -u " + owner + " " + shell_quoted((root / "bin" / name).string());
    };
    const std::string remove = "rm -f " + shell_quoted(socket.string()) + " && ";
    std::string command = run("stop") + " && ";
    if (error == EACCES || error == ECONNRESET || error == EPERM)
        command += ownership_command(owner, group_name(web.gid), "2750", shell_quoted(folder.string())) + " && ";
    if (error == ECONNREFUSED) command.clear();
    if (error == ECONNREFUSED || error == EPERM) command += remove;
    std::string what = fmt::format("{}, the web server's account, can't reach the resident scheduler at {}: {}",
                                   web.name, socket.string(), reason(error));
    if (error == EAGAIN) what += "; it has no room: raise the numbers of <cmd>scheduler --processes MIN-MAX</cmd>";
    return {what, command + run("start")};
}

void report_unreached(const fs::path& project) {
    const char* said = std::getenv(relay::kUnreached);
    const int error = static_cast<int>(parse_int(said == nullptr ? "" : said).value_or(0));
    ::unsetenv(relay::kUnreached);
    if (error <= 0) return;
    const WhoseTurn turn = take_turn(project);
    if (turn == WhoseTurn::kTaken) return;
    const ConnectFailure problem = connect_failure(project, error, {user_name(::geteuid()), ::geteuid(), ::getegid()});
    const std::string line =
        problem.what + ", so that each request starts a scheduler of its own; as root: " + problem.command;
    if (turn == WhoseTurn::kOurs)
        log_warning("{}", line);
    else
        log_once_a_day(LogLevel::kWarning, line);
}

}  // namespace sluice
