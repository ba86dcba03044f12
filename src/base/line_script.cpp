// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/line_script.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "sluice/base/process.h"
#include "sluice/base/text.h"
#include "src/base/script_child.h"

namespace sluice {
namespace {

constexpr std::size_t kCopiedErrors = 100'000;  ///< bytes of standard error that come into our log, a call
constexpr std::size_t kKeptErrors = 2000;       ///< bytes of standard error that a message may repeat

double steady_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Pipe {
    OwnedFd read, write;
};

bool make_pipe(Pipe& pipe) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    pipe.read = OwnedFd(ends[0]);
    pipe.write = OwnedFd(ends[1]);
    return true;
}

}  // namespace

LineScript::LineScript(std::vector<std::string> words, LineScriptLimits limits, std::function<bool()> stop)
    : words_(std::move(words)), limits_(limits), stop_(std::move(stop)) {
    ::signal(SIGPIPE, SIG_IGN);  // a script that has ended does not read what is written to it
}

LineScript::~LineScript() { end(); }

bool LineScript::start() {
    Pipe in, out, err;
    if (!make_pipe(in) || !make_pipe(out) || !make_pipe(err)) return false;
    std::vector<char*> argv;
    for (const std::string& word : words_) argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: its signature
    argv.push_back(nullptr);
    const ScriptChild child{.parent = ::getpid(),
                            .streams = {in.read.get(), out.write.get(), err.write.get()},
                            .leads = true,
                            .memory = limits_.memory,
                            .no_core = true};
    const pid_t pid = start_script_child(argv.data(), child);
    if (pid < 0) return false;
    ::setpgid(pid, pid);  // both do, so that it is so before it is ended
    pid_ = pid;
    in_ = std::move(in.write);
    out_ = std::move(out.read);
    err_ = std::move(err.read);
    for (const int fd : {in_.get(), out_.get(), err_.get()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
    to_write_.clear();
    read_.clear();
    errors_.clear();
    return true;
}

void LineScript::end() {
    if (pid_ == 0) return;
    ::kill(-pid_, SIGKILL);
    wait_for_child(pid_);
    pid_ = 0;
    for (OwnedFd* fd : {&in_, &out_, &err_}) *fd = OwnedFd();
}

LineScript::Asked LineScript::ask(std::span<const std::string> lines, const Take& take) {
    Asked asked;
    if (lines.empty()) return asked;
    stopped_ = false;
    copied_ = 0;
    if (pid_ == 0 && !start()) {
        asked.failure = words_.front() + " can't be started: " + std::strerror(errno);
        return asked;
    }
    std::string why = exchange(lines, take, asked.answered);
    if (!why.empty()) asked.failure = with_last_lines(std::move(why));
    if (!why.empty() || stopped_ || !asked.failure.empty()) end();
    return asked;
}

std::string LineScript::exchange(std::span<const std::string> lines, const Take& take, std::size_t& answered) {
    for (const std::string& line : lines) to_write_ += line + '\n';
    double began = steady_now();
    while (answered < lines.size()) {
        if (const auto end = read_.find('\n'); end != std::string::npos) {
            const std::string answer = read_.substr(0, end);
            read_.erase(0, end + 1);
            if (std::string wrong = take(answered, answer); !wrong.empty()) return wrong;
            ++answered;
            began = steady_now();
            continue;
        }
        if (read_.size() > limits_.longest)
            return "its answer is longer than " + std::to_string(limits_.longest) + " bytes";
        if (stop_ && stop_()) {
            stopped_ = true;
            return "";
        }
        if (limits_.answer > 0 && steady_now() >= began + limits_.answer)
            return fmt::format("no answer within {:g} s", limits_.answer);
        std::string why =
            wait_for_script(!to_write_.empty(), limits_.answer > 0 ? began + limits_.answer : steady_now() + 1);
        if (!why.empty()) return why;
    }
    if (!read_.empty()) return "it wrote more than one line for a question";
    return "";
}

std::string LineScript::wait_for_script(bool writes, double until) {
    std::array<pollfd, 3> fds{
        {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}, {writes ? in_.get() : -1, POLLOUT, 0}}};
    const double wait = std::clamp(until - steady_now(), 0.0, 1.0);
    const int n = ::poll(fds.data(), fds.size(), static_cast<int>(std::ceil(wait * 1000)));
    if (n <= 0) return "";
    if (fds[1].revents != 0) read_errors();
    if (fds[2].revents != 0)
        if (std::string why = write_some(); !why.empty()) return why;
    return fds[0].revents != 0 ? read_some() : "";
}

std::string LineScript::write_some() {
    const ssize_t n = ::write(in_.get(), to_write_.data(), to_write_.size());
    if (n > 0) to_write_.erase(0, static_cast<std::size_t>(n));
    if (n < 0 && errno == EPIPE) to_write_.clear();  // what it has written so far counts; then comes its end
    return "";
}

std::string LineScript::read_some() {
    std::array<char, 1 << 16> block{};
    const ssize_t n = ::read(out_.get(), block.data(), block.size());
    if (n > 0) read_.append(block.data(), static_cast<std::size_t>(n));
    if (n == 0) return how_it_ended();
    return "";
}

void LineScript::read_errors() {
    std::array<char, 4096> block{};
    const ssize_t n = ::read(err_.get(), block.data(), block.size());
    if (n == 0) err_ = OwnedFd();  // poll() leaves out what is closed
    if (n <= 0) return;
    copied_ += static_cast<std::size_t>(n);
    if (copied_ <= kCopiedErrors) write_all(STDERR_FILENO, {block.data(), static_cast<std::size_t>(n)});
    errors_.append(block.data(), static_cast<std::size_t>(n));
    if (errors_.size() > 2 * kKeptErrors) errors_.erase(0, errors_.size() - kKeptErrors);
}

std::string LineScript::how_it_ended() {
    const double end = steady_now() + 1;
    std::optional<int> status;
    while (!(status = poll_child(pid_)) && steady_now() < end) ::usleep(1000);
    constexpr int kReads = 100;  // what it has left behind may write for ever
    for (int i = 0; i < kReads && err_.get() >= 0; ++i) {
        pollfd fd{err_.get(), POLLIN, 0};
        if (::poll(&fd, 1, 0) <= 0) break;
        read_errors();
    }
    if (!status) return "it closed its standard output";
    ::kill(-pid_, SIGKILL);
    pid_ = 0;
    for (OwnedFd* fd : {&in_, &out_, &err_}) *fd = OwnedFd();
    if (*status > 128 && *status <= 128 + 64) return "it was killed by signal " + std::to_string(*status - 128);
    return "it ended with status " + std::to_string(*status) + " and without an answer" +
           (*status == 127 ? " (is it there and executable, and the interpreter of its first line?)" : "");
}

std::string LineScript::with_last_lines(std::string why) const {
    constexpr std::size_t kLines = 5;
    std::string_view text = errors_;
    while (text.ends_with('\n')) text.remove_suffix(1);
    std::vector<std::string_view> lines = split(text, '\n');
    if (lines.size() > kLines) lines.erase(lines.begin(), lines.end() - kLines);
    std::string said;
    for (const auto line : lines)
        if (!trim(line).empty()) said += (said.empty() ? "" : " | ") + in_one_line(trim(line));
    return said.empty() ? why : why + "; it said: " + said;
}

}  // namespace sluice
