// SPDX-License-Identifier: LGPL-3.0-or-later
// The real file_upload_handler, as a web server runs it: request on stdin, answer on stdout.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "tests/scenario/upload/upload_project.h"
#include "tests/support/fastcgi_client.h"
#include "tests/support/subprocess.h"

namespace sluice::test {
namespace {

using ::testing::HasSubstr;

TEST_F(Project, UploadThenSize) {
    std::string data;
    for (int i = 0; i < 700000; ++i) data += static_cast<char>(i * 13);
    const RunResult result = post(head("foo", data.size()) + data);
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.out, kSuccess);
    EXPECT_TRUE(read_file(dir / "upload/db/foo") == data);
    EXPECT_THAT(post(size_query("foo")).out, HasSubstr("    <file_size>700000</file_size>\n"));
    EXPECT_THAT(post(size_query("bar")).out, HasSubstr("    <file_size>0</file_size>\n"));
    EXPECT_THAT(log(), HasSubstr("Starting upload of foo from 10.1.2.3 [offset=0, nbytes=700000]"));
    EXPECT_THAT(log(), HasSubstr("Ended upload of foo from 10.1.2.3; retval 0"));
    EXPECT_THAT(log(), HasSubstr("[PID="));
}

TEST_F(Project, AMissingLogFolderIsMade) {
    post(size_query("foo"));
    const std::filesystem::path folder = dir / ("log_" + short_host_name());
    EXPECT_EQ(std::filesystem::status(folder).permissions(), std::filesystem::perms(02750));
    EXPECT_EQ(std::filesystem::status(folder / "scheduler.log").permissions(), std::filesystem::perms(0660));
}

TEST_F(Project, ACompleteFileStaysAsItIs) {
    ASSERT_EQ(post(head("foo", 10) + "0123").out.find("<status>1</status>"), kSuccess.find("<status>0</status>"));
    EXPECT_THAT(post(size_query("foo")).out, HasSubstr("<file_size>4</file_size>"));
    EXPECT_EQ(post(head("foo", 10, 4) + "456789").out, kSuccess);
    EXPECT_EQ(post(head("foo", 10) + "forged one").out, kSuccess) << "a client whose answer was lost goes on";
    EXPECT_EQ(post(head("foo", 20, 10) + "and a tail").out, kSuccess);
    EXPECT_EQ(read_file(stored("foo")), "0123456789");
    EXPECT_THAT(log(), HasSubstr("client tried to reupload the read-only file foo"));
}

TEST_F(Project, ForgedCertificate) {
    std::string body = head("foo", 3) + "abc";
    body.replace(body.find("<name>foo"), 9, "<name>fox");
    EXPECT_THAT(post(body).out, HasSubstr("    <status>-1</status>\n    <message>invalid signature</message>\n"));
    EXPECT_FALSE(std::filesystem::exists(stored("fox")));
    write_config("<ignore_upload_certificates/>\n");
    EXPECT_EQ(post(body).out, kSuccess);
    EXPECT_EQ(read_file(stored("fox")), "abc");
}

TEST_F(Project, WhatTheAdminMayHaveForgotten) {
    std::filesystem::remove(dir / "keys/upload_public");
    EXPECT_THAT(post(head("foo", 3) + "abc").out, HasSubstr("<status>1</status>\n    <message>can't read key file"));
    dir.write("config.xml", "<boinc><config>");
    EXPECT_THAT(post(head("foo", 3) + "abc").out,
                HasSubstr("<status>1</status>\n    <message>can't parse config file"));
    write_config("<ignore_upload_certificates/>\n");
    std::filesystem::remove(dir / "upload");
    EXPECT_THAT(post(head("foo", 3) + "abc").out,
                HasSubstr("<status>1</status>\n    <message>can't write to upload_dir"));
    std::filesystem::remove(dir / "config.xml");
    EXPECT_THAT(post(head("foo", 3) + "abc").out, HasSubstr("<status>1</status>"));
}

/// The text of the error would name the file's owner, of whom no file of the system tells.
TEST_F(Project, AnAccountWithoutANameIsAnswered) {
    const std::vector<std::string> nameless{"unshare", "--user", "--map-user=4242", "--map-group=6161"};
    auto words = nameless;
    words.push_back("true");
    if (run(words).status != 0) GTEST_SKIP() << "no account is without a name where user namespaces are forbidden";
    words.back() = kProgram;
    for (const char* file : {"keys/upload_public", "config.xml"}) {
        std::filesystem::permissions(dir / file, std::filesystem::perms::none);
        const RunResult result = run(words, options(head("foo", 3) + "abc"));
        EXPECT_EQ(result.status, 0) << file << result.err;
        EXPECT_THAT(result.out, HasSubstr("<status>1</status>\n    <message>can't ")) << file;
        EXPECT_THAT(log(), HasSubstr("4242")) << file;
    }
}

TEST_F(Project, StopUpload) {
    dir.write("stop_upload", "");
    EXPECT_THAT(post(head("foo", 3) + "abc").out,
                HasSubstr("<status>1</status>\n    <message>File uploads are temporarily disabled.</message>"));
    EXPECT_FALSE(std::filesystem::exists(stored("foo")));
    std::filesystem::remove(dir / "stop_upload");
    EXPECT_EQ(post(head("foo", 3) + "abc").out, kSuccess);
}

TEST_F(Project, QueryStringsAreNotArguments) {
    EXPECT_EQ(run({kProgram, "--help"}, options(head("foo", 3) + "abc")).out, kSuccess);
    RunOptions admin = options("");
    admin.env.clear();
    const RunResult help = run({kProgram, "--help"}, admin);
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.out + help.err, HasSubstr("--variety"));
}

TEST_F(Project, Variety) {
    std::filesystem::create_directory(dir / "upload_v2");
    RunOptions o = options(head("foo", 3) + "abc");
    o.env = {{"REMOTE_ADDR", "1.1.1.1"}};
    EXPECT_EQ(run({kProgram, "-u", "v2"}, o).out, kSuccess);
    EXPECT_EQ(read_file(dir / "upload_v2/db/foo"), "abc");
    EXPECT_TRUE(std::filesystem::exists(dir / ("log_" + short_host_name()) / "file_upload_handler_v2.log"));
}

// Killed in mid-upload, at many places: the file is a prefix each time, and the client resumes there.
TEST_F(Project, KilledAnywhereItResumes) {
    std::string data;
    for (int i = 0; i < 3000000; ++i) data += static_cast<char>(i * 131 >> 3);
    std::size_t offset = 0;
    for (const std::size_t sent : {5000u, 300000u, 900000u, 1500000u}) {
        Slow slow(*this, options(""), head("foo", data.size(), offset));
        slow.send(data.substr(offset, sent));
        ASSERT_TRUE(eventually([&] {
            return std::filesystem::exists(stored("foo")) &&
                   (sent < 256 * 1024 || std::filesystem::file_size(stored("foo")) > offset);
        }));
        slow.program().send_signal(SIGKILL);
        slow.program().wait();
        const std::string now = read_file(stored("foo")).value_or("");
        ASSERT_GE(now.size(), offset);
        ASSERT_TRUE(data.compare(0, now.size(), now) == 0);
        offset = now.size();
        EXPECT_THAT(post(size_query("foo")).out, HasSubstr("<file_size>" + std::to_string(offset) + "</file_size>"));
    }
    EXPECT_GT(offset, 256u * 1024);
    EXPECT_EQ(post(head("foo", data.size(), offset) + data.substr(offset)).out, kSuccess);
    EXPECT_TRUE(read_file(stored("foo")) == data);
}

TEST_F(Project, TermEndsItWithAnswerAndKeepsPrefix) {
    Slow slow(*this, options(""), head("foo", 1000000) + std::string(300000, 'x'));
    ASSERT_TRUE(eventually([&] {
        return std::filesystem::exists(stored("foo")) && std::filesystem::file_size(stored("foo")) >= 256 * 1024;
    }));
    slow.program().send_signal(SIGTERM);
    const auto result = slow.program().wait();
    ASSERT_TRUE(result);
    EXPECT_THAT(result->out, HasSubstr("<status>1</status>"));
    EXPECT_EQ(std::filesystem::file_size(stored("foo")), 300000u);
    EXPECT_THAT(log(), HasSubstr("caught signal 15"));
}

TEST_F(Project, TwoAtOnceOneIsSentAway) {
    Slow first(*this, options(""), head("foo", 400000) + std::string(300000, 'x'));
    ASSERT_TRUE(eventually(
        [&] { return std::filesystem::exists(stored("foo")) && std::filesystem::file_size(stored("foo")) > 0; }));
    const std::string holder = std::to_string(first.program().pid());
    EXPECT_THAT(post(head("foo", 3) + "abc").out, HasSubstr("<status>1</status>\n    <message>can't lock file foo"));
    EXPECT_THAT(post(size_query("foo")).out, HasSubstr("locked by file_upload_handler PID=" + holder));
    first.send(std::string(100000, 'y'));
    first.hang_up();
    EXPECT_EQ(first.program().wait()->out, kSuccess);
    EXPECT_EQ(std::filesystem::file_size(stored("foo")), 400000u);
    EXPECT_THAT(post(size_query("foo")).out, HasSubstr("<file_size>400000</file_size>"));
}

// A file is not held in memory: 300 MB go through a process that may have 64 MB.
TEST_F(Project, LargeFilesAreStreamed) {
    const std::size_t size = 300u << 20;
    int fds[2];
    ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
    const pid_t writer = ::fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
        const std::string block(1 << 20, 'z');
        const std::string start = head("foo", size);
        bool ok = ::write(fds[1], start.data(), start.size()) > 0;
        for (std::size_t sent = 0; ok && sent < size;) {
            const ssize_t n = ::write(fds[1], block.data(), block.size());
            ok = n > 0;
            if (ok) sent += static_cast<std::size_t>(n);
        }
        ::_exit(ok ? 0 : 1);
    }
    ::close(fds[1]);
    RunOptions o = options("");
    o.stdin_fd = fds[0];
    const RunResult result = run({"sh", "-c", "ulimit -d 65536; exec " + kProgram}, o, 120);
    ::close(fds[0]);
    int status = 0;
    ::waitpid(writer, &status, 0);
    EXPECT_EQ(result.out, kSuccess) << result.err;
    EXPECT_EQ(std::filesystem::file_size(stored("foo")), size);
}

TEST_F(Project, AKeptConnectionDoesNotDelayTheEnd) {
    const FastcgiSocket socket((dir / "socket").string());
    Subprocess program({kProgram}, behind(socket));
    const std::string body = size_query("foo");
    const int kept = socket.kept_connection({{"CONTENT_LENGTH", std::to_string(body.size())}}, body);
    program.send_signal(SIGTERM);
    const auto result = program.wait();
    ::close(kept);
    ASSERT_TRUE(result) << "it waits for a request that never comes";
    EXPECT_EQ(result->status, 0);
}

// What ends a body comes after it, and may be read only when the next request is waited for.
TEST_F(Project, ItCanBeEndedWhileReadingTheRest) {
    const FastcgiSocket socket((dir / "socket").string());
    Subprocess program({kProgram}, behind(socket));
    const std::string body = size_query("foo");
    const int kept = socket.begin_request({{"CONTENT_LENGTH", std::to_string(body.size())}}, body);
    EXPECT_THAT(FastcgiSocket::reply_on(kept), HasSubstr("<file_size>0</file_size>"));
    FastcgiSocket::send_body(kept, "");
    ASSERT_TRUE(eventually([&] { return FastcgiSocket::all_read(kept); }));
    program.send_signal(SIGTERM);
    const auto result = program.wait();
    ::close(kept);
    ASSERT_TRUE(result) << "it waits for a connection that never comes";
    EXPECT_EQ(result->status, 0);
}

TEST_F(Project, WhoReopensTheLogInterruptsNoUpload) {
    const FastcgiSocket socket((dir / "socket").string());
    Subprocess program({kProgram}, behind(socket));
    const std::string data(400000, 'x'), body = head("foo", data.size()) + data;
    const int connection =
        socket.begin_request({{"CONTENT_LENGTH", std::to_string(body.size())}}, body.substr(0, 300000));
    ASSERT_TRUE(eventually([&] {
        return std::filesystem::exists(stored("foo")) && std::filesystem::file_size(stored("foo")) > 0 &&
               FastcgiSocket::all_read(connection);
    }));
    program.send_signal(SIGUSR2);
    ASSERT_TRUE(eventually([&] { return program.signal_arrived(SIGUSR2); }));
    FastcgiSocket::send_body(connection, body.substr(300000, 60000));
    FastcgiSocket::send_body(connection, body.substr(360000));
    FastcgiSocket::send_body(connection, "");
    EXPECT_EQ(FastcgiSocket::reply_on(connection), kSuccess);
    ::close(connection);
    EXPECT_TRUE(read_file(stored("foo")) == data);
}

// The handler read on for five minutes, as fast as it could, and nobody else was served.
TEST_F(Project, AWebServerThatBreaksOffDelaysNobody) {
    const FastcgiSocket socket((dir / "socket").string());
    const std::string body = head("foo", 1000) + std::string(1000, 'x'), question = size_query("bar");
    const int broken =
        socket.begin_request({{"CONTENT_LENGTH", std::to_string(body.size())}}, body.substr(0, body.size() - 100));
    ::close(broken);  // before anybody serves it
    Subprocess program({kProgram}, behind(socket));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THAT(socket.request({{"CONTENT_LENGTH", std::to_string(question.size())}}, question),
                HasSubstr("<file_size>0</file_size>"));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST_F(Project, DiskFull) {
    // A file size limit of the shell stands for the full disk: EFBIG instead of ENOSPC, the same path.
    RunOptions o = options(head("foo", 400000) + std::string(400000, 'x'));
    const RunResult result = run({"sh", "-c", "trap '' XFSZ; ulimit -f 300; exec " + kProgram}, o);
    EXPECT_THAT(result.out, HasSubstr("<status>1</status>\n    <message>"));
    const auto got = std::filesystem::file_size(stored("foo"));
    EXPECT_LT(got, 400000u);
    EXPECT_THAT(post(head("foo", 400000, got) + std::string(400000 - got, 'x')).out, kSuccess);
    EXPECT_EQ(std::filesystem::file_size(stored("foo")), 400000u);
}

// The same program behind a listening socket: many requests a process, config.xml and stop_upload looked at each time.
TEST_F(Project, FastCgi) {
    const FastcgiSocket socket((dir / "socket").string());
    Subprocess program({kProgram}, behind(socket));
    const auto post_fast = [&](const std::string& body) {
        return socket.request({{"REMOTE_ADDR", "10.9.9.9"}, {"CONTENT_LENGTH", std::to_string(body.size())}}, body);
    };
    const std::string data(500000, 'q');
    EXPECT_EQ(post_fast(head("foo", data.size()) + data), kSuccess);
    EXPECT_TRUE(read_file(stored("foo")) == data);
    EXPECT_THAT(post_fast(size_query("foo")), HasSubstr("<file_size>500000</file_size>"));
    EXPECT_THAT(post_fast("<file_upload>\n<name>x</name>\n<data>\n" + data), HasSubstr("<message>missing signature"));
    dir.write("keys/upload_public", generate_key_pair().public_key);
    EXPECT_THAT(post_fast(head("bar", 3) + "abc"), HasSubstr("invalid signature")) << "the new key holds at once";
    dir.write("keys/upload_public", upload_keys().public_key);
    EXPECT_EQ(post_fast(head("bar", 3) + "abc"), kSuccess);
    dir.write("stop_upload", "");
    EXPECT_THAT(post_fast(head("bar", 3) + "abc"), HasSubstr("temporarily disabled"));
    std::filesystem::remove(dir / "stop_upload");
    write_config("<ignore_upload_certificates/>\n");
    std::filesystem::last_write_time(dir / "config.xml",
                                     std::filesystem::last_write_time(dir / "config.xml") + std::chrono::seconds(2));
    EXPECT_EQ(post_fast("<file_upload>\n<name>x</name>\n<nbytes>3</nbytes>\n<data>\nabc"), kSuccess);
    EXPECT_THAT(log(), HasSubstr("Starting upload of foo from 10.9.9.9"));
    std::filesystem::rename(dir / ("log_" + short_host_name()) / "file_upload_handler.log", dir / "rotated");
    post_fast(size_query("foo"));
    EXPECT_NE(log(), "NO LOG") << "nobody has to tell it";
    std::filesystem::remove(dir / ("log_" + short_host_name()) / "file_upload_handler.log");
    program.send_signal(SIGUSR2);
    EXPECT_TRUE(eventually([&] { return post_fast(size_query("foo")), log() != "NO LOG"; })) << "reopened for rotation";
    program.send_signal(SIGTERM);
    const auto result = program.wait();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->status, 0);
}

TEST_F(Project, FoldersKeysAndFanOutFollowTheConfiguration) {
    dir.write("other_keys/upload_public", generate_key_pair().public_key);
    std::filesystem::create_directory(dir / "elsewhere");
    const auto configure = [&](const std::string& key_dir, const std::string& more) {
        dir.write("config.xml", "<boinc><config><key_dir>" + key_dir + "</key_dir>" + more + "</config></boinc>");
    };
    for (const int fan_out : {1024, 16}) {
        for (const char* folder : {"upload", "elsewhere"}) {
            const std::string name = fmt::format("of_{}_{}", fan_out, folder);
            configure("keys",
                      fmt::format("<upload_dir>{}</upload_dir><uldl_dir_fanout>{}</uldl_dir_fanout>", folder, fan_out));
            EXPECT_EQ(post(head(name, 3) + "abc").out, kSuccess) << log();
            EXPECT_EQ(read_file(fanout_path(dir / folder, name, fan_out)), "abc");
        }
    }
    const std::string forged = head("foo", 3) + "abc";
    for (const auto& [options, answer] : std::map<std::string, std::string>{
             {"", "invalid signature"}, {"<ignore_upload_certificates/>", "<status>0</status>"}}) {
        configure("other_keys", "<upload_dir>upload</upload_dir>" + options);
        EXPECT_THAT(post(forged).out, HasSubstr(answer)) << "the other folder's key did not sign it";
    }
}

TEST_F(Project, OptionsOfFilesAndLogHaveAnEffect) {
    const auto mode = [&](const std::string& name) {
        struct stat s {};
        return ::stat(stored(name).c_str(), &s) == 0 ? s.st_mode & 0777 : 0;
    };
    write_config("<fuh_set_initial_permission>0640</fuh_set_initial_permission><fuh_debug_level>1</fuh_debug_level>");
    post(head("partial", 10) + "abc");
    EXPECT_EQ(mode("partial"), 0640u);
    EXPECT_EQ(log().find("Starting upload"), std::string::npos);
    write_config("<fuh_set_completed_permission>0400</fuh_set_completed_permission>");
    EXPECT_EQ(post(head("whole", 3) + "abc").out, kSuccess);
    EXPECT_EQ(mode("whole"), 0400u);
    EXPECT_THAT(log(), HasSubstr("Starting upload of whole"));
    for (const char* level : {"0", "1"}) {
        write_config("<compat_level>" + std::string(level) + "</compat_level>");
        const std::string name = std::string("hidden_at_") + level;
        post(head(name, 10) + "abc");
        EXPECT_EQ(mode(name) == 0, level == std::string("1")) << "<hide_incomplete_uploads>";
        EXPECT_THAT(post(size_query(name)).out, HasSubstr("<file_size>3</file_size>"));
        EXPECT_EQ(post(head(name, 10, 3) + "defghij").out, kSuccess);
        EXPECT_EQ(read_file(stored(name)), "abcdefghij");
    }
}

}  // namespace
}  // namespace sluice::test
