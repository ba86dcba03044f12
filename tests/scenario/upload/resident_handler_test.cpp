// SPDX-License-Identifier: LGPL-3.0-or-later
// `file_upload_handler --resident`, and the processes of the web server that hand requests to it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "sched/upload/relay_protocol.h"
#include "sched/web/unix_socket.h"
#include "tests/scenario/upload/upload_project.h"

namespace sluice::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Resident : public Project {
  protected:
    void SetUp() override { start(); }
    void begin_start() {
        RunOptions o;
        o.cwd = dir / "cgi-bin";
        o.unset = {"BOINC_PROJECT_DIR", "GATEWAY_INTERFACE", "REQUEST_METHOD"};
        server_.emplace(std::vector<std::string>{kProgram, "--resident"}, o);
    }
    void start() {
        begin_start();
        ASSERT_TRUE(eventually([&] { return !workers().empty(); }, 60)) << server_->err();
    }
    /// The exit status.
    int stop() {
        server_->send_signal(SIGTERM);
        const auto ended = server_->wait(60);
        return ended ? ended->status : -1;
    }
    std::filesystem::path socket() const { return dir / ("pid_" + short_host_name()) / "upload.sock"; }
    /// Of the resident handler's processes.
    std::set<int> workers() const {
        std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", server_->pid()));
        return {std::istream_iterator<int>(children), std::istream_iterator<int>()};
    }
    /// Who began uploads, as the log says.
    std::set<int> who_began() const {
        std::set<int> pids;
        const std::string text = log();
        for (auto at = text.find("Starting upload"); at != std::string::npos; at = text.find("Starting upload", at + 1))
            pids.insert(std::stoi(text.substr(text.rfind("PID=", at) + 4)));
        return pids;
    }
    bool by_a_worker() const {
        const auto began = who_began(), now = workers();
        return !began.empty() && std::includes(now.begin(), now.end(), began.begin(), began.end());
    }
    std::uintmax_t stored_size(const std::string& name) const {
        std::error_code missing;
        const auto size = std::filesystem::file_size(stored(name), missing);
        return missing ? 0 : size;
    }
    /// An upload of 1,000,000 bytes, of which the first block is stored.
    void begin(std::optional<Slow>& slow, const std::string& name) {
        slow.emplace(*this, options(""), head(name, 1000000) + std::string(300000, 'x'));
        ASSERT_TRUE(eventually([&] { return stored_size(name) >= 256 * 1024; }, 60));
    }
    void finish(const std::string& name) {
        const auto offset = static_cast<std::size_t>(stored_size(name));
        ASSERT_GE(offset, 256u * 1024);
        EXPECT_THAT(post(size_query(name)).out, HasSubstr(fmt::format("<file_size>{}</file_size>", offset)));
        EXPECT_EQ(post(head(name, 1000000, offset) + std::string(1000000 - offset, 'x')).out, kSuccess);
        EXPECT_TRUE(read_file(stored(name)) == std::string(1000000, 'x'));
    }

    /// A connection that says nothing yet.
    OwnedFd connect() const {
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        const std::string path = socket().string();
        EXPECT_LT(path.size(), sizeof at.sun_path);
        std::copy_n(path.begin(), std::min(path.size(), sizeof at.sun_path - 1), at.sun_path);
        OwnedFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
        return fd;
    }
    /// How often its processes have `file` open.
    int times_open(const std::filesystem::path& file) const {
        int times = 0;
        std::error_code ended;
        for (const int pid : workers())
            for (const auto& fd : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), ended))
                times += std::filesystem::read_symlink(fd.path(), ended) == file;
        return times;
    }

    std::optional<Subprocess> server_;
};

/// `size` bytes, and `n` times `fd`. False: the other end was not there any more.
bool send_with_descriptors(int socket, std::size_t size, int fd, std::size_t n) {
    std::string text(size, 'x');
    iovec part{text.data(), text.size()};
    const std::vector<int> fds(n, fd);
    std::vector<char> room(CMSG_SPACE(n * sizeof(int)));
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    *rights = {CMSG_LEN(n * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    std::memcpy(CMSG_DATA(rights), fds.data(), n * sizeof(int));
    return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

/// It has a socket beside the three files that it was given.
bool has_connection(int pid) {
    std::error_code ended;
    for (const auto& fd : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), ended))
        if (std::stoi(fd.path().filename()) > 2 &&
            std::filesystem::read_symlink(fd.path(), ended).string().starts_with("socket:"))
            return true;
    return false;
}

bool handles_sigterm(int pid) {
    std::ifstream status(fmt::format("/proc/{}/status", pid));
    for (std::string word; status >> word;)
        if (word == "SigCgt:") return status >> word && (std::stoull(word, nullptr, 16) >> (SIGTERM - 1) & 1) != 0;
    return false;
}

TEST_F(Resident, AnswersAsTheProgramItself) {
    std::string data;
    for (int i = 0; i < 700000; ++i) data += static_cast<char>(i * 13);
    EXPECT_EQ(post(head("foo", data.size()) + data).out, kSuccess);
    EXPECT_TRUE(read_file(stored("foo")) == data);
    EXPECT_TRUE(by_a_worker()) << log();
    EXPECT_THAT(log(), HasSubstr("Starting upload of foo from 10.1.2.3 [offset=0, nbytes=700000]"));
    EXPECT_THAT(post(size_query("foo")).out, HasSubstr("    <file_size>700000</file_size>\n"));
    EXPECT_THAT(post(size_query("bar")).out, HasSubstr("    <file_size>0</file_size>\n"));
    std::string forged = head("secret", 3) + "abc";
    forged.replace(forged.find("<name>secret"), 12, "<name>Secret");
    EXPECT_THAT(post(forged).out, HasSubstr("<status>-1</status>\n    <message>invalid signature"));
    EXPECT_THAT(post(head("big", 1000000001)).out, HasSubstr("exceeds limit"));
    EXPECT_THAT(post("nonsense\n").out, HasSubstr("<status>1</status>"));
    dir.write("stop_upload", "");
    EXPECT_THAT(post(size_query("foo")).out, HasSubstr("File uploads are temporarily disabled."));
    std::filesystem::remove(dir / "stop_upload");
    write_config("<ignore_upload_certificates>1</ignore_upload_certificates>");
    EXPECT_EQ(post(forged).out, kSuccess);
    EXPECT_EQ(stop(), 0);
    EXPECT_FALSE(std::filesystem::exists(socket()));
    EXPECT_EQ(post(head("after", 3) + "abc").out, kSuccess) << "without it";
}

/// It has read nobody knows how much: the client is told to come again, and finds what came.
TEST_F(Resident, KilledAmidAnUploadItLosesNothing) {
    std::optional<Slow> slow;
    begin(slow, "foo");
    const auto began = who_began();
    ASSERT_EQ(began.size(), 1u);
    ::kill(*began.begin(), SIGKILL);
    slow->hang_up();
    const auto told = slow->program().wait(90);
    ASSERT_TRUE(told);
    EXPECT_THAT(told->out, HasSubstr("<status>1</status>\n    <message>server error</message>"));
    finish("foo");
}

TEST_F(Resident, KilledAsAWholeItIsNotNeeded) {
    std::optional<Slow> slow;
    begin(slow, "foo");
    const auto workers_before = workers();
    server_->send_signal(SIGKILL);
    for (const int pid : workers_before) ::kill(pid, SIGKILL);
    slow->hang_up();
    EXPECT_THAT(slow->program().wait(90)->out, HasSubstr("<status>1</status>"));
    server_->wait(60);
    EXPECT_TRUE(std::filesystem::exists(socket()));
    finish("foo");
    start();
    EXPECT_EQ(post(head("bar", 3) + "abc").out, kSuccess);
    const auto began = who_began(), now = workers();
    EXPECT_TRUE(std::ranges::any_of(began, [&](int pid) { return now.count(pid) != 0; })) << log();
}

/// The web server ended it, or its client went away: the next try does not wait for the file.
TEST_F(Resident, ARelayThatIsGoneHoldsNoFile) {
    std::optional<Slow> slow;
    begin(slow, "foo");
    slow->program().send_signal(SIGKILL);
    slow->program().wait(60);  // what the client has sent may still come: the pipe is open
    ASSERT_TRUE(eventually([&] { return post(size_query("foo")).out.find("<file_size>") != std::string::npos; }, 60));
    finish("foo");
}

TEST_F(Resident, ToldToEndItKeepsThePrefix) {
    std::optional<Slow> slow;
    begin(slow, "foo");
    EXPECT_EQ(stop(), 0);
    EXPECT_THAT(slow->program().wait(60)->out, HasSubstr("<status>1</status>"));
    EXPECT_EQ(stored_size("foo"), 300000u);
    finish("foo");
}

/// What hangs is not waited for.
TEST_F(Resident, AStoppedOneIsPassedOver) {
    const auto all = workers();
    for (const int pid : all) ::kill(pid, SIGSTOP);
    server_->send_signal(SIGSTOP);
    EXPECT_EQ(post(head("foo", 3) + "abc").out, kSuccess);
    EXPECT_FALSE(by_a_worker());
    server_->send_signal(SIGCONT);
    for (const int pid : all) ::kill(pid, SIGCONT);
    EXPECT_TRUE(eventually([&] { return post(size_query("foo")).out.find("<file_size>3<") != std::string::npos; }, 60));
}

/// A relay that has given up reads the body itself. The resident handler finds its request later, and leaves it alone.
TEST_F(Resident, WhatWasGivenUpIsReadByOne) {
    const auto all = workers();
    for (const int pid : all) ::kill(pid, SIGSTOP);
    server_->send_signal(SIGSTOP);
    std::optional<Slow> slow;
    begin(slow, "foo");
    EXPECT_FALSE(by_a_worker());
    server_->send_signal(SIGCONT);
    for (const int pid : all) ::kill(pid, SIGCONT);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(post(head(fmt::format("after_{}", i), 3) + "abc").out, kSuccess);
    EXPECT_TRUE(std::ranges::any_of(who_began(), [&](int pid) { return all.count(pid) != 0; })) << log();
    for (int i = 0; i < 70; ++i) slow->send(std::string(10000, 'x'));
    EXPECT_EQ(slow->program().wait(60)->out, kSuccess);
    EXPECT_TRUE(read_file(stored("foo")) == std::string(1000000, 'x'));
}

/// Who ended before he said that he reads the body has read nothing.
TEST_F(Resident, KilledBeforeItBeginsItIsPassedOver) {
    const auto all = workers();
    for (const int pid : all) ::kill(pid, SIGSTOP);
    server_->send_signal(SIGSTOP);
    Slow slow(*this, options(""), head("foo", 1000000));
    ASSERT_TRUE(eventually([&] { return has_connection(slow.program().pid()); }, 60));
    server_->send_signal(SIGKILL);
    for (const int pid : all) ::kill(pid, SIGKILL);
    for (int i = 0; i < 100; ++i) slow.send(std::string(10000, 'x'));
    EXPECT_EQ(slow.program().wait(60)->out, kSuccess);
    EXPECT_TRUE(read_file(stored("foo")) == std::string(1000000, 'x'));
}

/// Slow clients have a process each; beyond the limit the web server's own processes serve them, as ever.
TEST_F(Resident, SlowClientsKeepNobodyWaiting) {
    std::deque<Slow> slow;
    for (int i = 0; i < 110; ++i) {
        const std::string name = fmt::format("slow_{}", i);
        slow.emplace_back(*this, options(""), head(name, 300000) + std::string(1000, 'x'));
        ASSERT_TRUE(eventually([&] { return std::filesystem::exists(stored(name)); }, 60)) << i;
    }
    EXPECT_EQ(workers().size(), 100u);
    EXPECT_EQ(post(head("quick", 3) + "abc").out, kSuccess);
    for (int i = 0; i < 110; ++i) {
        Slow& one = slow[static_cast<std::size_t>(i)];
        one.send(std::string(59000, 'x'));
        for (int n = 0; n < 4; ++n) one.send(std::string(60000, 'x'));
        one.hang_up();
        EXPECT_EQ(one.program().wait(60)->out, kSuccess) << i;
    }
}

/// Who is no relay: he gets no upload, and does not keep others from theirs.
TEST_F(Resident, NonsenseAtItsSocket) {
    std::vector<OwnedFd> strangers;
    const std::string text = "nonsense";
    for (int i = 0; i < 6; ++i) {
        strangers.push_back(connect());
        if (i % 2 == 0) {
            EXPECT_EQ(::send(strangers.back().get(), text.data(), text.size(), MSG_NOSIGNAL),
                      static_cast<ssize_t>(text.size()));
        }
    }
    EXPECT_EQ(post(head("foo", 3) + "abc").out, kSuccess);
    EXPECT_THAT(log(), Not(HasSubstr("ended with status")));
}

/// What is refused stays open nowhere: a process without free descriptors would wait for ever, and serve nobody.
TEST_F(Resident, DescriptorsThatAreRefusedAreClosed) {
    dir.write("sent", "");
    const OwnedFd sent(::open((dir / "sent").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_GE(sent.get(), 0);
    for (const std::size_t n : {1, 2, 3})
        for (const std::size_t size :
             {std::size_t{0}, std::size_t{5}, sizeof(upload::UploadRequest), sizeof(upload::UploadRequest) + 1}) {
            char byte = 0;
            const auto is_refused = [&] {
                const OwnedFd socket = connect();
                return send_with_descriptors(socket.get(), size, sent.get(), n) &&
                       ::recv(socket.get(), &byte, sizeof byte, 0) <= 0;
            };
            ASSERT_TRUE(eventually(is_refused, 60)) << n << " with " << size;
        }
    EXPECT_TRUE(eventually([&] { return times_open(dir / "sent") == 0; }, 60)) << times_open(dir / "sent");
    EXPECT_EQ(post(head("foo", 3) + "abc").out, kSuccess);
}

/// A resident handler that says these messages to who asks, and ends the connection.
void answer_as(int listener, const std::vector<std::string>& messages) {
    const OwnedFd relay(::accept(listener, nullptr, nullptr));
    char request[200];
    EXPECT_GT(::recv(relay.get(), request, sizeof request, 0), 0);
    for (const std::string& text : messages)
        EXPECT_EQ(::send(relay.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

TEST_F(Resident, OfAnotherVersionItIsPassedOver) {
    EXPECT_EQ(stop(), 0);
    const OwnedFd listener(listen_on_path(socket(), SOCK_SEQPACKET));
    ::fcntl(listener.get(), F_SETFL, 0);
    const std::string taken(upload::kTaken, sizeof upload::kTaken), other("SLUICE_UPLOAD 1", 16);
    for (const auto& messages : std::vector<std::vector<std::string>>{{}, {other}, {taken + "x"}}) {
        const std::string name = fmt::format("foo_{}_{}", messages.size(), messages.empty() ? 0 : messages[0].size());
        Slow slow(*this, options(""), head(name, 3) + "abc");
        answer_as(listener.get(), messages);
        slow.hang_up();
        EXPECT_EQ(slow.program().wait(60)->out, kSuccess) << name;
        EXPECT_EQ(read_file(stored(name)), "abc");
    }
    Slow slow(*this, options(""), head("bar", 3) + "abc");
    answer_as(listener.get(), {taken});
    slow.hang_up();
    EXPECT_THAT(slow.program().wait(60)->out, HasSubstr("<message>server error</message>")) << "it took the body";
    EXPECT_FALSE(std::filesystem::exists(stored("bar")));
}

/// It waits for its turn to make the socket, as beside another start.
TEST_F(Resident, ToldToEndBeforeItListens) {
    EXPECT_EQ(stop(), 0);
    const OwnedFd folder(::open(socket().parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::flock(folder.get(), LOCK_EX), 0);
    begin_start();
    ASSERT_TRUE(eventually([&] { return handles_sigterm(server_->pid()); }, 60));
    EXPECT_EQ(stop(), 0);
    EXPECT_FALSE(std::filesystem::exists(socket()));
}

/// Files that another account began, as one that its owner may not touch stands for them here.
TEST_F(Resident, WhatAnotherAccountBeganIsBegunAnew) {
    EXPECT_EQ(post(head("foo", 3) + "abc").out, kSuccess);
    const auto begun = stored("begun");
    std::filesystem::create_directories(begun.parent_path());
    write_file_atomically(begun, "ab");
    std::filesystem::permissions(begun, std::filesystem::perms(0060));
    EXPECT_THAT(post(size_query("begun")).out, HasSubstr("<file_size>0</file_size>"));
    EXPECT_THAT(post(head("begun", 3) + "abc").out, HasSubstr("<status>1</status>")) << "its handler may be at work";
    std::filesystem::last_write_time(begun, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(11));
    EXPECT_EQ(post(head("begun", 3) + "abc").out, kSuccess);
    EXPECT_EQ(read_file(begun), "abc");
}

}  // namespace
}  // namespace sluice::test
