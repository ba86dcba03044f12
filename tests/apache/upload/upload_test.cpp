// SPDX-License-Identifier: LGPL-3.0-or-later
// Uploads through a real Apache: what arrives, what may be resumed, what is refused, and that a refused client always
// gets its answer. The details of each check: tests/unit/upload; the program by itself: tests/scenario/upload.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "sluice/base/files.h"
#include "sluice/base/signing.h"
#include "tests/support/free_port.h"
#include "tests/support/private_apache.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kPath = "/test_cgi/file_upload_handler";

std::string text_of(const fs::path& file) {
    const RightsToAllFiles rights;  // while it is not complete it is the web server's alone
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Bytes of all values, no two megabytes alike.
std::string some_bytes(std::size_t n) {
    std::string out(n, '\0');
    std::uint32_t x = 12345;
    for (char& c : out) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
    return out;
}

struct Upload {
    std::string name, data;
    std::size_t offset = 0;
    std::string max_nbytes = "100000000", nbytes{};  ///< nbytes "": the data's size
    std::string signed_name{}, signed_max{};         ///< what the project signed, if something else
};

/// A connection that is used byte by byte.
class SlowClient {
  public:
    explicit SlowClient(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(port));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
            throw std::runtime_error("no connection");
    }
    SlowClient(const SlowClient&) = delete;
    ~SlowClient() { ::close(fd_); }
    void send(const std::string& text) const {
        for (std::size_t at = 0; at < text.size();) {
            const ssize_t n = ::send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
            if (n <= 0) throw std::runtime_error("the connection broke");
            at += static_cast<std::size_t>(n);
        }
    }
    std::string rest() const {
        std::string text;
        char block[4096];
        for (ssize_t n = 0; (n = ::recv(fd_, block, sizeof block, 0)) > 0;)
            text.append(block, static_cast<std::size_t>(n));
        return text;
    }

  private:
    int fd_;
};

/// A write lock on a whole file, as the handler takes it.
class FileLock {
  public:
    explicit FileLock(const fs::path& file) {
        const RightsToAllFiles rights;
        fd_ = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
        struct flock whole {};
        whole.l_type = F_WRLCK;
        if (fd_ < 0 || ::fcntl(fd_, F_SETLK, &whole) != 0) throw std::runtime_error("can't lock " + file.string());
    }
    FileLock(const FileLock&) = delete;
    ~FileLock() { ::close(fd_); }

  private:
    int fd_ = -1;
};

bool mount_small_disk(const fs::path& folder) {
    return ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=1m,mode=777") == 0;
}

/// Without root: a namespace of this process and its children in which it may mount. Its account stays what it is.
bool enter_mount_namespace() {
    if (::geteuid() == 0) return true;
    if (accounts_apart()) {
        const RightsToAllFiles rights;
        return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    }
    const uid_t uid = ::geteuid();
    const gid_t gid = ::getegid();
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    const auto write_map = [](const char* file, const std::string& text) { std::ofstream(file) << text << std::flush; };
    write_map("/proc/self/setgroups", "deny");
    write_map("/proc/self/uid_map", fmt::format("{0} {0} 1", uid));
    write_map("/proc/self/gid_map", fmt::format("{0} {0} 1", gid));
    return ::geteuid() == uid;
}

struct MountNamespace {
    MountNamespace() {
        static const bool entered = enter_mount_namespace();
        if (!entered) throw std::runtime_error("no mount namespace: root, or user namespaces, are needed");
    }
};

/// Some containers let nobody mount, not even root; tried in a child, whose mounts are gone with it.
bool somebody_may_mount() {
    const pid_t child = ::fork();
    if (child == 0) {
        const RightsToAllFiles rights;
        const bool entered = ::geteuid() == 0 ? ::unshare(CLONE_NEWNS) == 0 : enter_mount_namespace();
        const bool apart = entered && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
        ::_exit(apart && mount_small_disk("/mnt") ? 0 : 1);
    }
    int status = 1;
    const bool may = child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
    if (!may)
        std::fputs("nobody may mount here: UploadsToASmallDisk is left out (tests/unit/upload has full disks)\n",
                   stderr);
    return may;
}

class Uploads : public testing::TestWithParam<ApacheMode> {
  protected:
    Uploads() {
        project_.set_port(port_);
        ApacheOptions options;
        options.mode = GetParam();
        options.include = project_.apache_fragment(GetParam() == ApacheMode::kFcgid);
        options.env = project_.env();
        options.port = port_;
        apache_ = std::make_unique<PrivateApache>(options);
    }
    std::string body(const Upload& u) const {
        const std::string signed_text =
            fmt::format("<name>{}</name><max_nbytes>{}</max_nbytes>", u.signed_name.empty() ? u.name : u.signed_name,
                        u.signed_max.empty() ? u.max_nbytes : u.signed_max);
        return fmt::format(
            "<data_server_request>\n    <core_client_major_version>7</core_client_major_version>\n    <core_client_minor_version>20</core_client_minor_version>\n"
            "    <core_client_release>5</core_client_release>\n<file_upload>\n<file_info>\n<name>{}</name>\n<xml_signature>\n{}</xml_signature>\n"
            "<max_nbytes>{}</max_nbytes>\n</file_info>\n<nbytes>{}</nbytes>\n<md5_cksum>d41d8cd98f00b204e9800998ecf8427e</md5_cksum>\n"
            "<offset>{}</offset>\n<data>\n{}",
            u.name, key_.sign(signed_text), u.max_nbytes, u.nbytes.empty() ? std::to_string(u.data.size()) : u.nbytes,
            u.offset, u.data.substr(std::min(u.offset, u.data.size())));
    }
    HttpReply post(const std::string& text) const { return http(port_, kPath, text, 120); }
    /// The status of an answer, which must be well-formed, and its message behind it.
    std::string answer(const HttpReply& reply) const {
        const bool frame = reply.status == 200 && reply.body.starts_with("<data_server_reply>") &&
                           reply.body.ends_with("</data_server_reply>\n") &&
                           reply.head.find("Content-Type: text/plain") != std::string::npos;
        if (!frame) return fmt::format("malformed: HTTP {}, {}", reply.status, reply.body) + apache_->error_log();
        std::string text = elements(reply.body, "status").front();
        for (const auto& message : elements(reply.body, "message")) text += " " + message;
        for (const auto& size : elements(reply.body, "file_size")) text += " size " + size;
        return text;
    }
    std::string upload(const Upload& u) const { return answer(post(body(u))); }
    std::string size_of(const std::string& name) const {
        return answer(
            post("<data_server_request>\n<core_client_major_version>7</core_client_major_version>\n<get_file_size>" +
                 name + "</get_file_size>\n</data_server_request>\n"));
    }
    fs::path file(const std::string& name) const { return fanout_path(project_.folder() / "upload", name, 1024); }
    /// Every file below the upload folder.
    int files() const {
        int n = 0;
        for (const auto& entry : fs::recursive_directory_iterator(project_.folder() / "upload"))
            n += entry.is_directory() ? 0 : 1;
        return n;
    }
    bool streams() const { return GetParam() == ApacheMode::kCgid; }  ///< mod_fcgid collects the body first

    const int port_ = free_port();
    TestProject project_{PrivateMariaDb::shared(), "uploads"};
    PrivateKey key_ = PrivateKey::read(project_.folder() / "keys/upload_private");
    std::unique_ptr<PrivateApache> apache_;
};

/// Enters the namespace before the web server starts, which must see what is mounted.
class UploadsToASmallDisk : public MountNamespace, public Uploads {};

TEST_P(Uploads, AFileArrivesInItsFolder) {
    EXPECT_EQ(size_of("uc_0_r123_0"), "0 size 0");
    const Upload u{"uc_0_r123_0", some_bytes(3 << 20)};
    EXPECT_EQ(upload(u), "0");
    EXPECT_TRUE(text_of(project_.folder() / "upload/3ff/uc_0_r123_0") == u.data) << "the fan-out folder is upstream's";
    EXPECT_EQ(size_of("uc_0_r123_0"), "0 size 3145728");
    EXPECT_EQ(upload({"empty", ""}), "0");
    EXPECT_EQ(fs::file_size(file("empty")), 0u);
    // Asked once more, a complete file is fine and stays as it is.
    EXPECT_EQ(upload(u), "0");
    EXPECT_TRUE(text_of(file(u.name)) == u.data);
}

TEST_P(Uploads, AnUploadThatBrokeOffIsResumed) {
    const Upload u{"big", some_bytes(30 << 20)};
    const std::string text = body(u);
    http_bytes(port_,
               fmt::format("POST {} HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\r\n", kPath, text.size()) +
                   text.substr(0, 20 << 20));
    // Until the handler has seen the end; then as a client does: what is there, and the rest.
    std::string there;
    EXPECT_TRUE(eventually([&] { return (there = size_of("big")).starts_with("0 size "); })) << there;
    if (streams()) {
        EXPECT_TRUE(eventually([&] { return size_of("big") != "0 size 0"; }));
    }
    EXPECT_TRUE(eventually([&] { return (there = size_of("big")).starts_with("0 size "); })) << there;
    Upload rest = u;
    rest.offset = std::stoul(there.substr(7));
    EXPECT_LT(rest.offset, u.data.size());
    EXPECT_TRUE(text_of(file("big")) == u.data.substr(0, rest.offset) || rest.offset == 0);
    EXPECT_EQ(upload(rest), "0");
    EXPECT_TRUE(text_of(file("big")) == u.data);
    // A client that claims more than there is.
    Upload gap{"gap", some_bytes(1000)};
    gap.offset = 500;
    EXPECT_EQ(upload(gap), "1 length of file gap 0 bytes < offset 500 bytes");
}

TEST_P(Uploads, OnlyWhatTheProjectSigned) {
    Upload other{"mine", "data"};
    other.signed_name = "another";
    EXPECT_EQ(upload(other), "-1 invalid signature");
    Upload more{"mine", "data"};
    more.signed_max = "3";
    EXPECT_EQ(upload(more), "-1 invalid signature");
    std::string unsigned_body = body({"mine", "data"});
    const auto from = unsigned_body.find("<xml_signature>"), to = unsigned_body.find("</xml_signature>\n") + 17;
    EXPECT_EQ(answer(post(std::string(unsigned_body).erase(from, to - from))), "-1 missing signature");
    const KeyPairText stranger = generate_key_pair();
    unsigned_body.replace(
        from + 16, to - from - 16 - 17,
        PrivateKey::from_text(stranger.private_key).sign("<name>mine</name><max_nbytes>100000000</max_nbytes>"));
    EXPECT_EQ(answer(post(unsigned_body)), "-1 invalid signature");
    EXPECT_EQ(files(), 0);
}

TEST_P(Uploads, WhatIsTooLargeIsReadAndRefused) {
    Upload u{"large", some_bytes(20 << 20)};
    u.max_nbytes = "1000";
    EXPECT_THAT(upload(u), HasSubstr("-1 file size (20480 KB) exceeds limit (0 KB)"));
    Upload liar{"liar", some_bytes(20 << 20)};
    liar.max_nbytes = "1000";
    liar.nbytes = "1000";
    EXPECT_EQ(upload(liar), "0");
    EXPECT_EQ(fs::file_size(file("liar")), 1000u) << "not more than it said, and was allowed";
    Upload negative{"negative", "data"};
    negative.nbytes = "-4";
    EXPECT_THAT(upload(negative), HasSubstr("-1 nbytes missing or negative"));
    EXPECT_EQ(files(), 1);
}

TEST_P(Uploads, NamesDoNotLeaveTheFolder) {
    for (const std::string& name :
         {std::string("../escaped"), std::string("../../keys/upload_public"), std::string("/tmp/sluice_escaped"),
          std::string("a/../../escaped"), std::string(".."), std::string("."), std::string("a/b"),
          std::string("tab\there"), std::string("nul\0name", 8)}) {
        EXPECT_EQ(upload({name, "escaped"}).substr(0, 2), "-1") << name;
        EXPECT_TRUE(size_of(name).starts_with("-1")) << name;
    }
    EXPECT_EQ(files(), 0);
    EXPECT_FALSE(fs::exists(project_.folder() / "escaped"));
    EXPECT_FALSE(fs::exists("/tmp/sluice_escaped"));
    // Links that someone laid there.
    project_.run_program("show_shmem");  // anything: the project's folder is there
    std::ofstream(project_.folder() / "victim") << "untouched";
    fs::permissions(project_.folder() / "victim", fs::perms(0666));
    fs::create_directories(file("link").parent_path());
    fs::permissions(file("link").parent_path(), fs::perms(0777));
    fs::create_symlink(project_.folder() / "victim", file("link"));
    EXPECT_EQ(upload({"link", "escaped"}).substr(0, 1), "1");
    EXPECT_EQ(text_of(project_.folder() / "victim"), "untouched");
}

// Whoever writes a file holds it, whatever started the handlers.
TEST_P(Uploads, AFileOfAnotherHandlerIsLeftAlone) {
    const Upload u{"held", some_bytes(1 << 20)};
    EXPECT_EQ(upload({"held", u.data.substr(0, 1000), 0, u.max_nbytes, std::to_string(u.data.size())}).substr(0, 1),
              "1");
    {
        const FileLock held(file("held"));
        const std::string pid = std::to_string(::getpid());
        EXPECT_THAT(size_of("held"), testing::AllOf(testing::StartsWith("1 "), HasSubstr("PID=" + pid)));
        EXPECT_THAT(upload(u), HasSubstr("1 can't lock file held: locked by PID=" + pid));
        EXPECT_EQ(fs::file_size(file("held")), 1000u);
    }
    EXPECT_EQ(upload(u), "0");
    EXPECT_TRUE(text_of(file("held")) == u.data);
}

/// mod_fcgid hands a body over when it is complete: there two clients hold no file for long.
class StreamedUploads : public Uploads {};

TEST_P(StreamedUploads, OfTwoClientsWithOneFileOneWaits) {
    const Upload u{"shared", some_bytes(8 << 20)};
    const std::string text = body(u);
    const SlowClient slow(port_);
    slow.send(fmt::format("POST {} HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\r\n", kPath, text.size()) +
              text.substr(0, 4 << 20));
    std::string told;
    EXPECT_TRUE(eventually([&] {
        return (told = size_of("shared")).find("locked by file_upload_handler PID=") != std::string::npos;
    })) << told;
    EXPECT_TRUE(told.starts_with("1 "));
    EXPECT_THAT(upload(u), HasSubstr("1 can't lock file shared: locked by PID="));
    slow.send(text.substr(4 << 20));
    EXPECT_THAT(slow.rest(), HasSubstr("<status>0</status>"));
    EXPECT_TRUE(text_of(file("shared")) == u.data);
}

TEST_P(Uploads, WhatTheProjectCantTakeMayPass) {
    const Upload u{"later", some_bytes(5 << 20)};
    std::ofstream(project_.folder() / "stop_upload") << "";
    EXPECT_EQ(upload(u), "1 File uploads are temporarily disabled.");
    EXPECT_EQ(size_of("later"), "1 File uploads are temporarily disabled.");
    fs::remove(project_.folder() / "stop_upload");
    fs::rename(project_.folder() / "keys/upload_public", project_.folder() / "keys/away");
    // A process that has read the key may go on with it.
    const std::string without_key = upload(u);
    EXPECT_TRUE(without_key == "1 can't read key file" || (!streams() && without_key == "0")) << without_key;
    fs::rename(project_.folder() / "keys/away", project_.folder() / "keys/upload_public");
    fs::rename(project_.folder() / "config.xml", project_.folder() / "away.xml");
    EXPECT_EQ(upload(u), streams() ? "1 can't find the project" : "1 can't parse config file");
    fs::rename(project_.folder() / "away.xml", project_.folder() / "config.xml");
    EXPECT_EQ(upload(u), "0") << apache_->error_log();
    EXPECT_TRUE(text_of(file("later")) == u.data);
}

TEST_P(UploadsToASmallDisk, AFullDiskMayPass) {
    const fs::path folder = project_.folder() / "upload";
    const RightsToAllFiles rights;
    ASSERT_TRUE(mount_small_disk(folder));
    EXPECT_EQ(upload({"full", some_bytes(3 << 20)}), "1 No space left on server");
    EXPECT_EQ(size_of("full"), "1 Server is out of disk space");
    // What said it was smaller and is not.
    EXPECT_EQ(upload({"small", some_bytes(1000)}), "0");
    ASSERT_EQ(::umount2(folder.c_str(), MNT_DETACH), 0);
    EXPECT_EQ(upload({"full", some_bytes(3 << 20)}), "0");
}

TEST_P(Uploads, SizesBeyondTwoGigabytes) {
    EXPECT_EQ(upload({"huge", "x"}), "0");
    const RightsToAllFiles rights;
    fs::permissions(file("huge"), fs::perms(0644));  // complete, it is read-only
    ASSERT_EQ(::truncate(file("huge").c_str(), 5'000'000'000), 0);
    EXPECT_EQ(size_of("huge"), "0 size 5000000000");
}

TEST_P(Uploads, WhatIsNoRequestIsAnswered) {
    for (const std::string& text :
         {std::string("hello"), some_bytes(1 << 20), std::string("<data_server_request>\n</data_server_request>\n"),
          std::string(10 << 20, 'x'), "<data_server_request>\n<file_upload>\n" + std::string(10 << 20, '\n'),
          std::string("<scheduler_request>\n</scheduler_request>\n")})
        EXPECT_THAT(answer(post(text)).substr(0, 2), testing::AnyOf("1 ", "-1")) << text.substr(0, 40);
    EXPECT_EQ(answer(http(port_, kPath)).substr(0, 1), "1") << "a browser";
    EXPECT_EQ(answer(http(port_, std::string(kPath) + "?--help")).substr(0, 1), "1");
    EXPECT_EQ(files(), 0);
}

const auto kModeName = [](const testing::TestParamInfo<ApacheMode>& mode) {
    return mode.param == ApacheMode::kCgid ? "Cgi" : "Fcgid";
};
const std::vector<ApacheMode> kBoth{ApacheMode::kCgid, ApacheMode::kFcgid};
INSTANTIATE_TEST_SUITE_P(All, Uploads, testing::ValuesIn(kBoth), kModeName);
INSTANTIATE_TEST_SUITE_P(All, StreamedUploads, testing::Values(ApacheMode::kCgid), kModeName);
// Last: without root the tests after it would run in its namespace.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(UploadsToASmallDisk);
INSTANTIATE_TEST_SUITE_P(All, UploadsToASmallDisk,
                         testing::ValuesIn(somebody_may_mount() ? kBoth : std::vector<ApacheMode>{}), kModeName);

}  // namespace
}  // namespace sluice::test
