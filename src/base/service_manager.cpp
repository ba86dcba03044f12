// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/service_manager.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr std::chrono::seconds kPause{1};
constexpr long kDefaultPatience = 300'000'000;  // us
constexpr std::size_t kLongestStatus = 500;

constexpr const char* kSocket = "NOTIFY_SOCKET";
constexpr const char* kPatience = "WATCHDOG_USEC";
constexpr const char* kWatched = "WATCHDOG_PID";

}  // namespace

ServiceManager ServiceManager::from_environment() {
    ServiceManager manager;
    for (const char* name : {kSocket, kPatience, kWatched}) {
        if (const char* value = std::getenv(name)) manager.environment_[name] = value;
        ::unsetenv(name);
    }
    manager.address_ = manager.environment_[kSocket];
    const auto patience = parse_int(manager.environment_[kPatience]);
    const std::string& watched = manager.environment_[kWatched];
    // Of a parent that left its environment.
    const bool is_me = watched.empty() || watched == std::to_string(::getpid());
    manager.watched_ = is_me && patience.value_or(0) > 0;
    manager.patience_ = manager.watched_ ? static_cast<long>(*patience) : kDefaultPatience;
    std::string& address = manager.address_;
    if (address.size() < 2 || address.size() >= sizeof sockaddr_un{}.sun_path ||
        (address[0] != '/' && address[0] != '@'))
        return manager;
    if (address[0] == '@') address[0] = '\0';
    manager.fd_ = OwnedFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return manager;
}

void ServiceManager::ready(std::string_view sentence) {
    const bool first = !ready_;
    ready_ = true;
    status(sentence);
    if (first && listens() && !ready_told_) tell();
}

void ServiceManager::status(std::string_view sentence) {
    if (!listens()) return;
    status_ = in_one_line(sentence, kLongestStatus);
    if (status_ != status_told_) tell();
}

void ServiceManager::alive() {
    if (listens() && Clock::now() >= told_ + kPause) tell();
}

void ServiceManager::stopping(std::string_view why) {
    if (listens()) send(fmt::format("STOPPING=1\nSTATUS={}", in_one_line(why, kLongestStatus)));
}

void ServiceManager::leave_to_the_next(bool speaks) {
    if (!listens()) return;
    if (!speaks) send("READY=1\nSTATUS=It runs; it reports no turns\nWATCHDOG_USEC=0");
    for (const auto& [name, value] : environment_)
        if (speaks && !value.empty()) ::setenv(name.c_str(), value.c_str(), 1);
}

void ServiceManager::tell() {
    std::string text;
    if (ready_ && !ready_told_) text += "READY=1\n";
    if (status_ != status_told_) text += "STATUS=" + status_ + "\n";
    if (!ready_) text += fmt::format("EXTEND_TIMEOUT_USEC={}\n", patience_);
    if (ready_ && watched_) text += "WATCHDOG=1\n";
    told_ = Clock::now();
    if (text.empty() || !send(text)) return;
    ready_told_ = ready_;
    status_told_ = status_;
}

bool ServiceManager::send(const std::string& text) const {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, address_.data(), address_.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
    return ::sendto(fd_.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                    reinterpret_cast<const sockaddr*>(&to), size) >= 0;
}

ServiceManager& service_manager() {
    static ServiceManager manager;
    if (std::getenv(kSocket) != nullptr) manager = ServiceManager::from_environment();
    return manager;
}

}  // namespace sluice
