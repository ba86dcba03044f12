// SPDX-License-Identifier: LGPL-3.0-or-later
// canary_front: stands in the place of a project's scheduler while `sluice canary` divides its hosts. It gives each
// request to their scheduler or to ours, unchanged, hands on what that answers, and counts. Of a long request it reads
// only the beginning; the rest flows to the scheduler by the kernel. Where anything of ours is missing, the request
// goes to theirs.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include "sched/canary/choice.h"
#include "sched/canary/counts.h"
#include "sched/canary/served_request.h"
#include "sched/relay/web_start.h"
#include "sluice/base/write_all.h"

using namespace sluice;
using namespace sluice::relay;

namespace {

/// In front of that stands what tells hosts apart.
constexpr std::size_t kBeginning = 256 * 1024;
/// Set for the scheduler: who finds it set is no front.
constexpr const char* kInside = "SLUICE_CANARY";

struct Request {
    int input = -1;  ///< what the scheduler reads
    std::string beginning{};
    pid_t feeder = -1;  ///< a process that feeds it with the rest
};

[[noreturn]] void give_up(const std::string& why) {
    write_all(STDERR_FILENO, std::string(kFrontMark) + why + "\n");
    ::_exit(1);
}

[[noreturn]] void become(const std::string& program, char** argv) {
    ::setenv(kInside, "1", 1);
    ::execv(program.c_str(), argv);
    ::_exit(127);
}

/// Their scheduler, or, when it has just been put back into its place, what is there.
std::string their_program(const std::string& project) {
    const std::string kept = project + "/" + kCanaryFolder + "/" + kCanaryTheirs;
    return ::access(kept.c_str(), X_OK) == 0 ? kept : project + "/cgi-bin/cgi";
}

std::string read_small_file(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    char text[64];
    const ssize_t n = file < 0 ? 0 : ::read(file, text, sizeof text);
    if (file >= 0) ::close(file);
    return {text, static_cast<std::size_t>(n > 0 ? n : 0)};
}

[[noreturn]] void no_room() { give_up(std::string("no room for the request: ") + std::strerror(errno)); }

/// A file in memory.
int file_of(std::string_view request) {
    const int file = ::memfd_create("sluice request", MFD_CLOEXEC);
    if (file < 0 || !write_all(file, request)) no_room();
    ::lseek(file, 0, SEEK_SET);
    return file;
}

/// The beginning, and then what the web server sends, until its end or the scheduler's.
void feed(int to, std::string_view beginning) {
    constexpr std::size_t kAtOnce = 1 << 20;
    ssize_t n = write_all(to, beginning) ? 1 : 0;
    while (n > 0 || (n < 0 && errno == EINTR))
        n = ::splice(STDIN_FILENO, nullptr, to, nullptr, kAtOnce, SPLICE_F_MOVE | SPLICE_F_MORE);
    if (n == 0 || errno != EINVAL) return;
    char block[65536];  // an input that can't be spliced
    while ((n = ::read(STDIN_FILENO, block, sizeof block)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0 && !write_all(to, {block, static_cast<std::size_t>(n)})) return;
}

/// By a process of its own, for the scheduler may answer meanwhile. It holds no end that somebody waits for.
void start_feeder(Request& request) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) no_room();
    request.feeder = ::fork();
    if (request.feeder < 0) give_up(std::string("no process: ") + std::strerror(errno));
    if (request.feeder == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::close(STDOUT_FILENO);
        ::close(ends[0]);
        feed(ends[1], request.beginning);
        ::_exit(0);
    }
    ::close(ends[1]);
    request.input = ends[0];
    // Unpacked by a filter of the web server's, it is longer than that.
    if (std::getenv("HTTP_CONTENT_ENCODING") != nullptr) ::unsetenv("CONTENT_LENGTH");
}

void end_feeder(const Request& request) {
    if (request.feeder < 0) return;
    ::kill(request.feeder, SIGKILL);
    while (::waitpid(request.feeder, nullptr, 0) < 0 && errno == EINTR) {
    }
}

Request read_request() {
    Request request;
    StdinBody body;
    while (!body.ended() && request.beginning.size() < kBeginning) request.beginning += body.next();
    if (!body.ended()) {
        start_feeder(request);
        return request;
    }
    request.input = file_of(request.beginning);
    // A filter of the web server's may have unpacked it.
    if (!body.broke_off()) ::setenv("CONTENT_LENGTH", std::to_string(request.beginning.size()).c_str(), 1);
    return request;
}

/// All that the scheduler writes on its standard output. `status`: as of waitpid().
std::string answer_of(const std::string& program, int request, char** argv, int& status) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) give_up(std::string("no pipe: ") + std::strerror(errno));
    const pid_t child = ::fork();
    if (child < 0) give_up(std::string("no process: ") + std::strerror(errno));
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // a web server that ends the front ends it, too
        ::signal(SIGPIPE, SIG_DFL);
        if (::dup2(request, STDIN_FILENO) >= 0 && ::dup2(ends[1], STDOUT_FILENO) >= 0) become(program, argv);
        ::_exit(127);
    }
    ::close(ends[1]);
    std::string answer;
    char block[65536];
    for (;;) {
        const ssize_t n = ::read(ends[0], block, sizeof block);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        answer.append(block, static_cast<std::size_t>(n));
    }
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return answer;
}

int serve(const std::string& project, char** argv) {
    const Request request = read_request();
    const std::string folder = project + "/" + kCanaryFolder + "/", ours = folder + kCanaryOurs;
    const int share = canary_share(read_small_file(folder + kCanarySettings));
    const bool to_ours = goes_to_sluice(host_key(request.beginning), share) && ::access(ours.c_str(), X_OK) == 0;
    const auto start = std::chrono::steady_clock::now();
    int status = 0;
    const std::string answer = answer_of(to_ours ? ours : their_program(project), request.input, argv, status);
    const auto took = std::chrono::steady_clock::now() - start;
    end_feeder(request);
    write_all(STDOUT_FILENO, answer);
    ServedRequest served = judge_reply(answer, asks_for_work(request.beginning), status == 0);
    served.ours = to_ours;
    served.microseconds = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
    ::signal(SIGBUS, [](int) { ::_exit(1); });  // somebody cut the file: the reply is out
    count_in_file(folder + kCanaryFigures, std::time(nullptr) / 3600, served);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) {
    ::signal(SIGPIPE, SIG_IGN);
    const std::string project = find_project();
    if (std::getenv(kInside) != nullptr) give_up("it would start itself; run 'sluice canary --stop' for this project");
    if (project.empty()) give_up("not in a project's folder");
    // Somebody who starts their scheduler by hand wants that one.
    if (argc > 1 && !by_web_server()) become(their_program(project), argv);
    if (is_fastcgi()) become(their_program(project), argv);
    return serve(project, argv);
}
