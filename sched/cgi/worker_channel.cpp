// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/worker_channel.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sched/cgi/fastcgi_records.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

/// A message that carries one file descriptor.
struct Message {
    explicit Message(Task& task) : part{&task, sizeof task} {
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        header.msg_control = room;
        header.msg_controllen = sizeof room;
    }
    iovec part;
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
};

}  // namespace

bool send_task(int socket, const Task& task, int request_file) {
    Task copy = task;
    Message message(copy);
    cmsghdr* rights = CMSG_FIRSTHDR(&message.header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &request_file, sizeof(int));
    for (;;) {
        const ssize_t n = ::sendmsg(socket, &message.header, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        return n == static_cast<ssize_t>(sizeof copy);
    }
}

bool WorkerGateway::accept() {
    forget();
    Task task;
    Message message(task);
    ssize_t n = -1;
    while (n < 0) {
        if (!wait_for_request(STDIN_FILENO)) return false;
        n = ::recvmsg(STDIN_FILENO, &message.header, MSG_CMSG_CLOEXEC);
        if (n < 0 && errno != EINTR) return false;
    }
    const cmsghdr* rights = n == static_cast<ssize_t>(sizeof task) ? CMSG_FIRSTHDR(&message.header) : nullptr;
    if (rights == nullptr) return false;  // the server is gone, or wants this worker no more
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    const OwnedFd file(fd);
    mapped_ = task.params_size + task.body_size;
    if (mapped_ > 0) {
        mapping_ = ::mmap(nullptr, mapped_, PROT_READ, MAP_PRIVATE, fd, 0);
        if (mapping_ == MAP_FAILED) {
            log_critical("can't read a request of {} bytes: {}", mapped_, std::strerror(errno));
            mapping_ = nullptr;
            return false;
        }
        params_.assign(static_cast<const char*>(mapping_), task.params_size);
    }
    task_ = task;
    return true;
}

std::string WorkerGateway::variable(const char* name) const { return fastcgi::variable(params_, name); }

std::optional<HeldBody> WorkerGateway::held() const {
    if (!task_) return std::nullopt;
    const char* begin = static_cast<const char*>(mapping_);
    return HeldBody{task_->kind, mapping_ ? std::string_view(begin + task_->params_size, task_->body_size) : ""};
}

ReadResult WorkerGateway::read(char*, std::size_t, Deadline) { return {}; }

void WorkerGateway::release_held() {
    if (mapping_ != nullptr) ::munmap(mapping_, mapped_);
    mapping_ = nullptr;
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

}  // namespace sluice
