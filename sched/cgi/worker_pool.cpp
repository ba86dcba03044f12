// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/worker_pool.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sched/cgi/fastcgi_records.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

/// A task, with the bytes of its request behind it or with room for one file descriptor.
struct Message {
    explicit Message(Task& task) : parts{{&task, sizeof task}, {}} {
        header.msg_iov = parts;
        header.msg_iovlen = 1;
        header.msg_control = room;
        header.msg_controllen = sizeof room;
    }
    iovec parts[2];
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
};

}  // namespace

bool send_task(int socket, const Task& task, const HeldRequest& request) {
    Task copy = task;
    Message message(copy);
    const int file = request.file();
    const std::string_view bytes = request.memory();
    if (file < 0) {
        message.parts[1] = {const_cast<char*>(bytes.data()), bytes.size()};
        message.header.msg_iovlen = 2;
        message.header.msg_controllen = 0;
    } else {
        cmsghdr* rights = CMSG_FIRSTHDR(&message.header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(rights), &file, sizeof(int));
    }
    for (;;) {  // an idle worker's channel is empty, and has room for all of it
        const ssize_t n = ::sendmsg(socket, &message.header, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        return n == static_cast<ssize_t>(sizeof copy + bytes.size());
    }
}

/// A wait for a request ends each second, for a signal that came just before it began.
WorkerGateway::WorkerGateway()
    : Gateway(termination_requested), buffer_(std::make_unique_for_overwrite<char[]>(HeldRequest::kInMemory)) {
    constexpr timeval kPause{1, 0};
    ::setsockopt(channel_.get(), SOL_SOCKET, SO_RCVTIMEO, &kPause, sizeof kPause);
}

bool WorkerGateway::accept() {
    forget();
    Task task;
    Message message(task);
    message.parts[1] = {buffer_.get(), HeldRequest::kInMemory};
    message.header.msg_iovlen = 2;
    ssize_t n = -1;
    while (n < 0) {
        if (termination_requested()) return false;
        n = ::recvmsg(STDIN_FILENO, &message.header, MSG_CMSG_CLOEXEC);
        if (n < 0 && errno != EINTR && errno != EAGAIN) return false;
    }
    if (n < static_cast<ssize_t>(sizeof task)) return false;  // the server is gone, or wants this worker no more
    task_ = task;
    const cmsghdr* rights = CMSG_FIRSTHDR(&message.header);
    if (rights == nullptr) return take_bytes(static_cast<std::size_t>(n) - sizeof task);
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    const OwnedFd file(fd);
    return take_file(fd);
}

bool WorkerGateway::take_file(int fd) {
    mapped_ = task_->params_size + task_->body_size;
    mapping_ = ::mmap(nullptr, mapped_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapping_ == MAP_FAILED) {
        log_critical("can't read a request of {} bytes: {}", mapped_, std::strerror(errno));
        mapping_ = nullptr;
        return false;
    }
    params_.assign(static_cast<const char*>(mapping_), task_->params_size);
    return true;
}

/// `there`: how many of them came with the task.
bool WorkerGateway::take_bytes(std::size_t there) {
    const std::size_t size = task_->params_size + task_->body_size;
    if (size > HeldRequest::kInMemory) return false;
    while (there < size) {
        const ssize_t n = ::recv(channel_.get(), buffer_.get() + there, size - there, 0);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) return false;
        there += static_cast<std::size_t>(n);
    }
    params_.assign(buffer_.get(), task_->params_size);
    body_ = {buffer_.get() + task_->params_size, task_->body_size};
    return true;
}

std::string WorkerGateway::variable(const char* name) const { return fastcgi::variable(params_, name); }

std::optional<HeldBody> WorkerGateway::held() const {
    if (!task_) return std::nullopt;
    if (mapping_ == nullptr) return HeldBody{task_->kind, body_};
    return HeldBody{task_->kind, {static_cast<const char*>(mapping_) + task_->params_size, task_->body_size}};
}

ReadResult WorkerGateway::read(char*, std::size_t, Deadline) { return {}; }

void WorkerGateway::release_held() {
    if (mapping_ != nullptr) ::munmap(mapping_, mapped_);
    mapping_ = nullptr;
    body_ = {};
}

void WorkerGateway::page_out_held(std::size_t bytes) {
    if (mapping_ == nullptr || !task_) return;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    // Nothing was written to the mapping: its pages come back from the file.
    ::madvise(mapping_, std::min(task_->params_size + bytes, mapped_) / page * page, MADV_DONTNEED);
}

void WorkerGateway::finish() {
    const ReplyLength length = reply_.size();
    reply_.insert(0, reinterpret_cast<const char*>(&length), sizeof length);
    std::string_view rest = reply_;
    while (!rest.empty()) {
        const ssize_t n = ::send(channel_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;  // the server is gone
        rest.remove_prefix(static_cast<std::size_t>(n));
    }
    forget();
}

void WorkerGateway::forget() {
    release_held();
    task_.reset();
    reply_.clear();
}

namespace {

/// A worker that ends at once is not replaced at once.
constexpr std::chrono::seconds kShortLife{1};
constexpr std::chrono::seconds kForkPause{5};
constexpr std::chrono::seconds kIdle{30};

}  // namespace

WorkerPool::Worker* WorkerPool::take(Clock::time_point now) {
    for (auto& [fd, worker] : workers_)
        if (worker.serves < 0) return &worker;
    return workers_.size() < static_cast<std::size_t>(limits_.most) ? start(now) : nullptr;
}

void WorkerPool::adjust(Clock::time_point now) {
    const auto least = static_cast<std::size_t>(limits_.least);
    while (workers_.size() < least)
        if (start(now) == nullptr) break;
    for (auto it = workers_.begin(); it != workers_.end() && workers_.size() > least;) {
        const bool idle = it->second.serves < 0 && now - it->second.idle_since > kIdle;
        it = idle ? workers_.erase(it) : std::next(it);
    }
}

WorkerPool::Worker* WorkerPool::by_socket(int fd) {
    const auto it = workers_.find(fd);
    return it == workers_.end() ? nullptr : &it->second;
}

void WorkerPool::drop(int fd) { workers_.erase(fd); }

void WorkerPool::signal_all(int signal) const {
    for (const auto& [pid, when] : processes_) ::kill(pid, signal);
}

void WorkerPool::reap() {
    for (int status = 0;;) {
        const pid_t pid = ::waitpid(-1, &status, WNOHANG);
        if (pid <= 0) return;
        const auto it = processes_.find(pid);
        if (it == processes_.end()) continue;
        if (Clock::now() - it->second < kShortLife) not_before_ = Clock::now() + kShortLife;
        processes_.erase(it);
        if (status != 0) log_warning("worker {} ended with status {:#x}", pid, status);
    }
}

WorkerPool::Worker* WorkerPool::start(Clock::time_point now) {
    if (now < not_before_) return nullptr;
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        note_fork(errno);
        return nullptr;
    }
    OwnedFd ours(ends[0]);
    const OwnedFd theirs(ends[1]);
    const pid_t parent = ::getpid(), pid = ::fork();
    if (pid == 0) ::_exit(be_worker(parent, theirs.get()));
    note_fork(pid > 0 ? 0 : errno);
    if (pid < 0) return nullptr;
    processes_[pid] = now;
    const int fd = ours.get();
    Worker& worker = workers_[fd];
    worker.socket = std::move(ours);
    worker.idle_since = now;
    if (on_start) on_start(fd);
    return &worker;
}

/// Trouble is said when it begins and when it is over, not at every try.
void WorkerPool::note_fork(int error) {
    if (error != 0) not_before_ = Clock::now() + kForkPause;
    if (error != 0 && !cant_fork_)
        log_critical("can't start a worker: {}; serving with {}, trying again every {} s", std::strerror(error),
                     workers_.size(), kForkPause.count());
    if (error == 0 && cant_fork_) log_normal("workers can be started again");
    cant_fork_ = error != 0;
}

int WorkerPool::be_worker(pid_t parent, int socket) const {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody would start it anew, or end it
    if (::getppid() != parent) return 1;
    ::dup2(socket, STDIN_FILENO);
    ::close_range(STDERR_FILENO + 1, ~0U, 0);  // the connections of others
    ::sigprocmask(SIG_SETMASK, &outside_, nullptr);
    return run_();
}

}  // namespace sluice
