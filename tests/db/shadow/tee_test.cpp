// SPDX-License-Identifier: LGPL-3.0-or-later
// The tee in front of a cgi that is a script: whatever ends when, clients read what that cgi wrote. No database.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "sched/shadow/progress_line.h"
#include "sched/shadow/teed_requests.h"
#include "sched/tee/installed_tee.h"
#include "sched/tee/place.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

/// Says how long the request was, waits until `go` is there, then writes much.
constexpr const char* kScript = R"(#!/bin/sh
n=$(wc -c)
printf 'Content-type: text/xml\n\nbytes %s, %s\n' "$n" "$1"
cd "$(dirname "$0")/.."
while [ -e hold ]; do sleep 0.01; done
[ -e much ] && cat much
echo end >&2
exit 7
)";

std::string much() {
    std::string text;
    for (int i = 0; i < 60000; ++i) text += std::to_string(i) + "\n";
    return text;
}

/// A process of cgi-bin/cgi, as mod_cgid starts one: standard input and output are one socket.
class CgiProcess {
  public:
    CgiProcess(const fs::path& cgi, std::string_view body, const std::string& method = "POST",
               const std::string& length = "") {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair");
        end_ = OwnedFd(ends[0]);
        const OwnedFd other(ends[1]);
        posix_spawn_file_actions_t files;
        ::posix_spawn_file_actions_init(&files);
        ::posix_spawn_file_actions_adddup2(&files, other.get(), 0);
        ::posix_spawn_file_actions_adddup2(&files, other.get(), 1);
        ::posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
        std::string program = cgi, word = "a word", m = "REQUEST_METHOD=" + method,
                    l = "CONTENT_LENGTH=" + (length.empty() ? std::to_string(body.size()) : length),
                    path = "PATH=/bin:/usr/bin";
        char* argv[] = {program.data(), word.data(), nullptr};
        char* env[] = {m.data(), l.data(), path.data(), nullptr};
        if (::posix_spawn(&pid_, program.c_str(), &files, nullptr, argv, env) != 0) throw std::runtime_error("spawn");
        ::posix_spawn_file_actions_destroy(&files);
        std::thread([fd = end_.get(), text = std::string(body)] {
            write_all(fd, text);
            ::shutdown(fd, SHUT_WR);
        }).swap(writer_);
    }
    ~CgiProcess() {
        writer_.join();
        if (!reaped_) ::waitpid(pid_, nullptr, 0);
    }
    /// So many bytes, or to the end.
    std::string read(std::size_t most = std::string::npos) {
        std::string text;
        char bytes[4096];
        while (text.size() < most) {
            const ssize_t n = ::read(end_.get(), bytes, std::min(sizeof bytes, most - text.size()));
            if (n <= 0) break;
            text.append(bytes, static_cast<std::size_t>(n));
        }
        return text;
    }
    /// Its two, in the order in which they were started.
    std::vector<pid_t> helpers() const {
        std::vector<pid_t> found;
        std::ifstream children("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children");
        for (pid_t child = 0; children >> child;) {
            std::string name;
            std::ifstream("/proc/" + std::to_string(child) + "/comm") >> name;
            if (name == "cgi_tee") found.push_back(child);
        }
        return found;
    }
    int status() {
        int status = -1;
        ::waitpid(pid_, &status, 0);
        reaped_ = true;
        return status;
    }

  private:
    OwnedFd end_;
    pid_t pid_ = 0;
    std::thread writer_;
    bool reaped_ = false;
};

class Tee : public testing::Test {
  protected:
    Tee() {
        folder_.write("cgi-bin/cgi", kScript);
        fs::permissions(cgi(), fs::perms(0755));
        folder_.write("much", much());
        native_ = ask(kBody);
        tee::install(folder_.path(), program());
    }
    static fs::path program() { return fs::path(binary_dir()) / "bin/cgi_tee"; }
    fs::path cgi() const { return folder_ / "cgi-bin/cgi"; }
    fs::path behind() const { return folder_ / "cgi-bin" / tee::kBehind; }
    std::string ask(const std::string& body) const { return CgiProcess(cgi(), body).read(); }
    void hold() const { folder_.write("hold", ""); }
    void go() const { fs::remove(folder_ / "hold"); }

    /// What the shadow has of one request.
    static TeedRequest take(TeedRequests& teed) {
        TeedRequest request;
        EXPECT_TRUE(eventually([&] {
            teed.wait(milliseconds(10), -1);
            return teed.take_ended(request);
        }));
        return request;
    }

    const std::string kBody = std::string(20000, 'b');
    TempDir folder_;
    std::string native_;
};

TEST_F(Tee, AnswersAsTheSchedulerDoes) {
    ASSERT_THAT(native_, HasSubstr("bytes 20000, a word"));
    EXPECT_EQ(ask(kBody), native_);
    TeedRequests teed(folder_.path());
    CgiProcess cgi_process(cgi(), kBody);
    EXPECT_EQ(cgi_process.read(), native_);
    EXPECT_EQ(WEXITSTATUS(cgi_process.status()), 7) << "the process is the scheduler's";
    const TeedRequest seen = take(teed);
    EXPECT_EQ(seen.request, kBody);
    EXPECT_EQ(seen.reply_text(), native_);
    EXPECT_FALSE(seen.given_up);
}

TEST_F(Tee, WhatItCannotCopyItLeavesAlone) {
    TeedRequests teed(folder_.path());
    const std::string large(5 << 20, 'x');
    EXPECT_THAT(ask(large), HasSubstr("bytes 5242880,"));
    EXPECT_THAT(CgiProcess(cgi(), "", "GET", "0").read(), HasSubstr("bytes 0,"));
    EXPECT_THAT(CgiProcess(cgi(), "abc", "POST", "x").read(), HasSubstr("bytes 3,"));
    teed.wait(milliseconds(0), -1);
    EXPECT_EQ(teed.open(), 0u);
    // One that broke off is answered, and no request.
    EXPECT_THAT(CgiProcess(cgi(), "abc", "POST", "1000").read(), HasSubstr("bytes 3,"));
    for (int i = 0; i < 3; ++i) teed.wait(milliseconds(10), -1);
    EXPECT_EQ(teed.refused(), 1);
}

/// Before anything is written, and with half of the reply on its way: the socket to the client is full then.
TEST_F(Tee, AnyOfItsProcessesMayBeKilled) {
    for (const bool half_way : {false, true})
        for (const std::size_t victim : {0u, 1u, 2u}) {
            auto teed = std::make_unique<TeedRequests>(folder_.path());
            hold();
            CgiProcess process(cgi(), kBody);
            ASSERT_TRUE(eventually([&] { return process.helpers().size() == 2; }));
            const std::vector<pid_t> helpers = process.helpers();
            teed->wait(milliseconds(10), -1);
            std::string answer;
            if (half_way) {
                go();
                answer = process.read(10000);
            }
            if (victim < 2) ::kill(helpers[victim], SIGKILL);
            teed.reset();  // the shadow ends, too
            go();
            answer += process.read();
            EXPECT_TRUE(answer == native_) << victim << half_way << ": " << answer.size() << " " << native_.size();
        }
    EXPECT_EQ(ask(kBody), native_);
}

TEST_F(Tee, AStoppedShadowKeepsNobodyWaiting) {
    const TeedRequests teed(folder_.path());  // it never looks
    std::vector<std::unique_ptr<CgiProcess>> processes;
    hold();
    for (int i = 0; i < tee::kBacklog + 8; ++i) processes.push_back(std::make_unique<CgiProcess>(cgi(), kBody));
    go();
    for (auto& process : processes) EXPECT_TRUE(process->read() == native_);
}

TEST_F(Tee, WhatWasWrittenIsPassedOn) {
    TeedRequests teed(folder_.path());
    hold();
    CgiProcess process(cgi(), kBody);
    const std::string log = (folder_ / "log").string();
    std::vector<TeedRequest*> fresh;
    ASSERT_TRUE(eventually([&] {
        for (TeedRequest* request : teed.wait(milliseconds(10), -1)) fresh.push_back(request);
        return !fresh.empty() && !fresh[0]->reply_text().empty();
    }));
    const std::string begun = fresh[0]->reply_text();
    folder_.write("much", "");
    for (const pid_t helper : process.helpers()) ::kill(helper, SIGTERM);  // as a service that is stopped
    go();
    EXPECT_EQ(process.read(), begun);
}

/// A packet of somebody who is not the tee.
void send_hello(const fs::path& socket, const tee::Hello& hello, const std::vector<int>& files) {
    const OwnedFd link(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    socket.string().copy(at.sun_path, sizeof at.sun_path - 1);
    ASSERT_EQ(::connect(link.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    iovec text{const_cast<tee::Hello*>(&hello), sizeof hello};
    alignas(cmsghdr) char space[256] = {};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
    std::copy(files.begin(), files.end(), reinterpret_cast<int*>(CMSG_DATA(c)));
    EXPECT_GE(::sendmsg(link.get(), &message, MSG_NOSIGNAL), 0);
}

TEST_F(Tee, WhatIsNoRequestIsRefused) {
    TeedRequests teed(folder_.path());
    ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
    const OwnedFd fifo(::open((folder_ / "fifo").c_str(), O_RDWR | O_CLOEXEC)), zero(::open("/dev/zero", O_RDONLY));
    const OwnedFd file(::open((folder_ / "much").c_str(), O_RDONLY | O_CLOEXEC));
    const fs::path socket = folder_ / "cgi-bin" / tee::kSocket;
    const auto long_one = static_cast<std::uint32_t>(fs::file_size(folder_ / "much"));
    send_hello(socket, {tee::kVersion, 5, 0}, {fifo.get(), file.get()});
    send_hello(socket, {tee::kVersion, 5, 0}, {zero.get(), file.get()});
    send_hello(socket, {tee::kVersion, long_one, 0}, {file.get(), file.get()});  // larger than the tee sends
    send_hello(socket, {tee::kVersion + 1, 5, 0}, {file.get(), file.get()});
    send_hello(socket, {tee::kVersion, 5, 0}, {file.get()});
    send_hello(socket, {tee::kVersion, 5, 0}, {file.get(), file.get(), file.get(), file.get()});
    EXPECT_TRUE(eventually([&] {
        EXPECT_THAT(teed.wait(milliseconds(10), -1), testing::IsEmpty());
        return teed.refused() == 6;
    })) << teed.refused();
    EXPECT_EQ(teed.open(), 0u);
    EXPECT_THROW(TeedRequests second(folder_.path()), Error) << "one at a time";
}

TEST_F(Tee, IsPutThereAndTakenAway) {
    tee::install(folder_.path(), program());
    EXPECT_TRUE(tee::is_tee(cgi()));
    EXPECT_EQ(*read_file(behind()), kScript);
    EXPECT_TRUE(tee::remove(folder_.path()));
    EXPECT_FALSE(tee::remove(folder_.path()));
    EXPECT_EQ(*read_file(cgi()), kScript);
    EXPECT_EQ(fs::status(cgi()).permissions(), fs::perms(0755));
    // BOINC's tools/upgrade put a new one over the tee.
    tee::install(folder_.path(), program());
    fs::remove(cgi());
    folder_.write("cgi-bin/cgi", "#!/bin/sh\necho new\n");
    EXPECT_TRUE(tee::remove(folder_.path()));
    EXPECT_EQ(*read_file(cgi()), "#!/bin/sh\necho new\n");
    // A link stays a link.
    fs::rename(cgi(), folder_ / "built");
    fs::create_symlink("../built", cgi());
    tee::install(folder_.path(), program());
    EXPECT_TRUE(fs::is_symlink(behind()));
    tee::remove(folder_.path());
    EXPECT_TRUE(fs::is_symlink(cgi()));
    std::vector<std::string> left;
    for (const auto& entry : fs::directory_iterator(folder_ / "cgi-bin")) left.push_back(entry.path().filename());
    EXPECT_THAT(left, testing::ElementsAre("cgi"));
    EXPECT_THROW(tee::install(folder_.path(), folder_ / "much"), Error) << "that is no tee";
}

TEST_F(Tee, WhoMayRunTheSchedulerMayRunIt) {
    tee::remove(folder_.path());
    fs::permissions(cgi(), fs::perms(0750));
    tee::install(folder_.path(), program());
    EXPECT_EQ(fs::status(cgi()).permissions(), fs::perms(0750));
    EXPECT_EQ(ask(kBody), native_);
    tee::remove(folder_.path());
    // An access control list, where the file system has any: one more account may run it.
    struct Entry {
        std::uint16_t tag, rights;
        std::uint32_t id;
    };
    constexpr std::uint32_t kNobody = 65534, kNone = 0xffffffff;
    const struct {
        std::uint32_t version = 2;
        Entry entries[5] = {{1, 7, kNone}, {2, 5, kNobody}, {4, 5, kNone}, {16, 5, kNone}, {32, 0, kNone}};
    } list;
    constexpr const char* kName = "system.posix_acl_access";
    if (::setxattr(cgi().c_str(), kName, &list, sizeof list, 0) == 0) {
        tee::install(folder_.path(), program());
        char copied[sizeof list] = {};
        EXPECT_EQ(::getxattr(cgi().c_str(), kName, copied, sizeof copied), static_cast<ssize_t>(sizeof list));
        EXPECT_EQ(std::memcmp(copied, &list, sizeof list), 0);
        tee::remove(folder_.path());
    } else {
        EXPECT_EQ(errno, EOPNOTSUPP);
    }
    fs::rename(folder_ / "cgi-bin", folder_ / "shared");
    fs::create_directory_symlink("shared", folder_ / "cgi-bin");
    EXPECT_THROW(tee::install(folder_.path(), program()), Error) << "other projects may be served from there";
}

TEST(ProgressLine, ComesNowAndThen) {
    int asked = 0;
    const auto text = [&] { return "line " + std::to_string(++asked); };
    testing::internal::CaptureStderr();
    ProgressLine(std::chrono::seconds(0)).say(text);
    ProgressLine().say(text);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "line 1\n");
}

TEST_F(Tee, SaysSoWhereTheSchedulerIsMissing) {
    fs::remove(behind());
    EXPECT_THAT(ask(kBody), HasSubstr("<project_is_down/>"));
    EXPECT_THROW(tee::remove(folder_.path()), Error);
}

}  // namespace
}  // namespace sluice::test
