// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/daemon/stop.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/service_manager.h"
#include "sluice/daemon/daemon.h"
#include "src/daemon/level_file.h"

namespace sluice {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// All that the signal handler touches.
volatile std::sig_atomic_t g_signal = 0;
volatile std::sig_atomic_t g_wake_fd = -1;

void on_stop_signal(int signal) {
    const int saved = errno;
    g_signal = signal;
    // Wakes a sleep that is just about to begin: a flag alone would be seen only after it. A full pipe wakes
    // as well.
    const char byte = 0;
    [[maybe_unused]] const ssize_t ignored = ::write(g_wake_fd, &byte, 1);
    errno = saved;
}

void on_other_signal(int) {}

constexpr std::array<int, 3> kStopSignals{SIGHUP, SIGTERM, SIGINT};
constexpr std::array<int, 2> kHarmlessSignals{SIGUSR1, SIGPIPE};

struct StopState {
    std::filesystem::path stop_file;
    double look_interval = 1;
    std::optional<SteadyClock::time_point> looked;  ///< when the stop file was last looked for
    bool file_present = false;
    std::optional<LevelFile> levels;
    std::array<int, 2> pipe{-1, -1};
    std::array<struct sigaction, kStopSignals.size() + kHarmlessSignals.size()> old{};
};

StopState& state() {
    static StopState the_state;
    return the_state;
}

struct sigaction action_of(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;  // a signal must not look like a broken database connection
    return action;
}

void install_handlers(StopState& s) {
    std::size_t n = 0;
    const auto stop = action_of(on_stop_signal);
    for (const int signal : kStopSignals) ::sigaction(signal, &stop, &s.old[n++]);
    const auto harmless = action_of(on_other_signal);
    for (const int signal : kHarmlessSignals) {
        ::sigaction(signal, nullptr, &s.old[n]);
        if (s.old[n++].sa_handler == SIG_DFL) ::sigaction(signal, &harmless, nullptr);
    }
}

}  // namespace

StopWatch::StopWatch(const std::filesystem::path& stop_file, double look_interval, const std::string& program) {
    StopState& s = state();
    s.stop_file = stop_file;
    s.look_interval = look_interval;
    s.levels.reset();
    if (!program.empty() && !stop_file.empty()) s.levels.emplace(stop_file.parent_path() / kLogLevels, program);
    s.looked.reset();
    s.file_present = false;
    g_signal = 0;
    if (::pipe2(s.pipe.data(), O_NONBLOCK | O_CLOEXEC) != 0) {
        throw Error(std::string("Can't make a pipe: ") + std::strerror(errno));
    }
    g_wake_fd = s.pipe[1];
    install_handlers(s);
}

StopWatch::~StopWatch() {
    StopState& s = state();
    std::size_t n = 0;
    for (const int signal : kStopSignals) ::sigaction(signal, &s.old[n++], nullptr);
    for (const int signal : kHarmlessSignals) ::sigaction(signal, &s.old[n++], nullptr);
    g_wake_fd = -1;
    g_signal = 0;
    s.file_present = false;
    for (int& fd : s.pipe) ::close(std::exchange(fd, -1));
    s.stop_file.clear();
    s.levels.reset();
}

bool stop_requested() {
    StopState& s = state();
    if (g_signal != 0 || s.file_present) return true;
    // Long turns ask as well: they are at work.
    service_manager().alive();
    if (s.stop_file.empty()) return false;
    const auto now = SteadyClock::now();
    if (s.looked && Seconds(now - *s.looked).count() < s.look_interval) return false;
    s.looked = now;
    log_follow_rotation();
    std::error_code ignored;
    s.file_present = std::filesystem::exists(s.stop_file, ignored);
    if (s.levels) s.levels->look();
    return s.file_present;
}

std::string stop_reason() {
    switch (g_signal) {
        case 0: return "trigger file " + state().stop_file.string() + " is present";
        case SIGHUP: return "SIGHUP was received";
        case SIGINT: return "SIGINT was received";
        default: return "SIGTERM was received";
    }
}

bool interruptible_sleep(double seconds, const std::function<bool()>& also_wake, double poll_interval) {
    const auto end = SteadyClock::now() + Seconds(seconds);
    const double slice = also_wake ? std::clamp(poll_interval, 0.001, 1.0) : 1.0;
    for (;;) {
        if (stop_requested()) return true;
        if (also_wake && also_wake()) return false;
        const double left = Seconds(end - SteadyClock::now()).count();
        if (left <= 0) return false;
        pollfd wake{state().pipe[0], POLLIN, 0};  // fd -1 is ignored: a plain sleep
        ::poll(&wake, 1, std::max(1, static_cast<int>(std::min(left, slice) * 1000)));
    }
}

}  // namespace sluice
