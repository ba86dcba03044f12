// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What programs tell the service manager that started them: its end of the socket.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "sluice/base/files.h"
#include "tests/support/subprocess.h"

namespace sluice::test {

class NotifySocket {
  public:
    /// `name`: a path, or '@' and an abstract name.
    explicit NotifySocket(std::string name) : name_(std::move(name)), fd_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        std::memcpy(at.sun_path, name_.data(), name_.size());
        if (name_[0] == '@') at.sun_path[0] = '\0';
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
        if (::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&at), size) != 0)
            throw std::runtime_error("can't bind " + name_ + ": " + std::strerror(errno));
    }

    const std::string& name() const { return name_; }
    /// All datagrams so far, in their order.
    const std::vector<std::string>& told() {
        std::array<char, 4096> text{};
        for (ssize_t n = 0; (n = ::recv(fd_.get(), text.data(), text.size(), MSG_DONTWAIT)) >= 0;)
            told_.emplace_back(text.data(), static_cast<std::size_t>(n));
        return told_;
    }
    /// The number of the first datagram that has the text; -1: none.
    int place_of(const std::string& text) {
        for (std::size_t i = 0; i < told().size(); ++i)
            if (told_[i].find(text) != std::string::npos) return static_cast<int>(i);
        return -1;
    }
    bool is_told(const std::string& text) {
        return eventually([&] { return place_of(text) >= 0; });
    }

  private:
    std::string name_;
    OwnedFd fd_;
    std::vector<std::string> told_;
};

/// The variable of this process while the object lives; what it starts inherits it.
class Variable {
  public:
    Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() { ::unsetenv(name_); }

  private:
    const char* name_;
};

}  // namespace sluice::test
