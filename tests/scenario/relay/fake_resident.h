// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A resident scheduler of a test's own, as far as a relay sees one: says what the test wants said and keeps what came.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "sched/cgi/fastcgi_records.h"
#include "sched/cgi/relay_protocol.h"
#include "sluice/base/project.h"

namespace sluice::test {

class FakeResident : public fastcgi::RecordSink {
  public:
    struct Behaviour {
        bool answers = true;  ///< the question whether it serves; else it says nothing at all
        std::string version = relay::kVersion;
        bool reads_request = true;  ///< else it closes the connection when it has answered
        std::string reply{};        ///< records, sent when the request is whole; then it closes
    };
    FakeResident(const std::filesystem::path& project, Behaviour behaviour) : behaviour_(std::move(behaviour)) {
        const auto folder = project / ("pid_" + short_host_name());
        std::filesystem::create_directory(folder);
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        const int open_folder = ::open(folder.c_str(), O_PATH | O_CLOEXEC);  // the project's path may be long
        const std::string path = "/proc/self/fd/" + std::to_string(open_folder) + "/" + relay::kSocket;
        std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
        listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(listener_, 8) != 0)
            throw std::runtime_error("can't listen");
        ::close(open_folder);
        thread_ = std::thread([this] { serve(); });
    }
    ~FakeResident() override {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }
    /// How many requests came whole. The others are to be read when the relay has ended.
    int requests() const { return requests_; }
    const std::string& params() const { return params_; }
    const std::string& body() const { return body_; }
    int ends_of_params() const { return ends_of_params_; }  ///< FastCGI: one

    bool on_content(fastcgi::RecordType type, std::uint16_t, std::string_view piece) override {
        if (type == fastcgi::kGetValues && behaviour_.answers)
            send(fastcgi::record(fastcgi::kGetValuesResult, 0, fastcgi::pair(relay::kName, behaviour_.version)));
        if (type == fastcgi::kGetValues) return behaviour_.reads_request;
        if (type == fastcgi::kParams) params_ += piece;
        ends_of_params_ += type == fastcgi::kParams && piece.empty() ? 1 : 0;
        if (type != fastcgi::kStdin) return true;
        body_ += piece;
        if (!piece.empty()) return true;
        ++requests_;
        send(behaviour_.reply);
        return false;
    }

  private:
    void serve() {
        while ((connection_ = ::accept(listener_, nullptr, nullptr)) >= 0) {
            fastcgi::RecordReader reader;
            char bytes[65536];
            for (ssize_t n; (n = ::read(connection_, bytes, sizeof bytes)) > 0;)
                if (!reader.feed({bytes, static_cast<std::size_t>(n)}, *this)) break;
            ::close(connection_);
        }
    }
    void send(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t n = ::send(connection_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n <= 0) return;
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
    }

    Behaviour behaviour_;
    int listener_ = -1, connection_ = -1, ends_of_params_ = 0;
    std::atomic<int> requests_{0};
    std::string params_, body_;
    std::thread thread_;
};

}  // namespace sluice::test
