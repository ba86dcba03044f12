// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project for the real file_upload_handler, and its clients.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/signing.h"
#include "tests/support/fastcgi_client.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

inline const KeyPairText& upload_keys() {
    static const KeyPairText pair = generate_key_pair();
    return pair;
}

inline const std::string kProgram = sluice::test::binary_dir() + "/cgi-bin/file_upload_handler";

/// A project as the upload handler needs it.
struct Project : ::testing::Test {
    TempDir dir;
    Project() {
        for (const char* folder : {"upload", "cgi-bin", "keys"}) std::filesystem::create_directory(dir / folder);
        dir.write("keys/upload_public", upload_keys().public_key);
        write_config("");
    }
    void write_config(const std::string& options) {
        const std::string root = dir.path().string();
        dir.write("config.xml", "<boinc>\n<config>\n<project_dir>" + root + "</project_dir>\n<key_dir>" + root +
                                    "/keys</key_dir>\n<upload_dir>" + root +
                                    "/upload</upload_dir>\n"
                                    "<uldl_dir_fanout>1024</uldl_dir_fanout>\n" +
                                    options + "</config>\n</boinc>\n");
    }
    /// As FastCGI.
    RunOptions behind(const FastcgiSocket& socket) const {
        RunOptions o = options("");
        o.env.clear();
        o.unset = {"BOINC_PROJECT_DIR", "CONTENT_LENGTH", "GATEWAY_INTERFACE", "REQUEST_METHOD"};
        o.stdin_fd = socket.fd();
        return o;
    }
    RunOptions options(const std::string& body) const {
        RunOptions o;
        o.cwd = dir / "cgi-bin";
        o.env = {{"GATEWAY_INTERFACE", "CGI/1.1"}, {"REQUEST_METHOD", "POST"}, {"REMOTE_ADDR", "10.1.2.3"}};
        o.unset = {"BOINC_PROJECT_DIR", "CONTENT_LENGTH"};
        o.stdin_text = body;
        return o;
    }
    RunResult post(const std::string& body) const { return run({kProgram}, options(body)); }
    std::string head(const std::string& name, std::size_t nbytes, std::size_t offset = 0) const {
        const std::string signature = PrivateKey::from_text(upload_keys().private_key)
                                          .sign("<name>" + name + "</name><max_nbytes>1000000000</max_nbytes>");
        return "<data_server_request>\n    <core_client_major_version>7</core_client_major_version>\n"
               "    <core_client_minor_version>20</core_client_minor_version>\n"
               "    <core_client_release>5</core_client_release>\n<file_upload>\n<file_info>\n<name>" +
               name + "</name>\n<xml_signature>\n" + signature +
               "</xml_signature>\n<max_nbytes>1000000000</max_nbytes>\n"
               "</file_info>\n<nbytes>" +
               std::to_string(nbytes) + "</nbytes>\n<md5_cksum>x</md5_cksum>\n<offset>" + std::to_string(offset) +
               "</offset>\n<data>\n";
    }
    std::string size_query(const std::string& name) const {
        return "<data_server_request>\n    <get_file_size>" + name + "</get_file_size>\n</data_server_request>\n";
    }
    std::filesystem::path stored(const std::string& name) const { return fanout_path(dir / "upload", name, 1024); }
    std::string log() const {
        return read_file(dir / ("log_" + short_host_name()) / "file_upload_handler.log").value_or("NO LOG");
    }
};

inline const std::string kSuccess =
    "Content-type: text/plain\n\n<data_server_reply>\n    <status>0</status>\n</data_server_reply>\n";

/// A request of which the client has sent only a part; the rest can follow.
class Slow {
  public:
    Slow(const Project& project, const RunOptions& base, const std::string& part) {
        (void)project;
        int fds[2];
        if (::pipe2(fds, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
        write_fd_ = fds[1];
        RunOptions o = base;
        o.stdin_text.clear();
        o.stdin_fd = fds[0];
        program_.emplace(std::vector<std::string>{kProgram}, o);
        ::close(fds[0]);
        send(part);
    }
    ~Slow() { hang_up(); }
    void send(const std::string& bytes) {
        ASSERT_EQ(::write(write_fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    }
    void hang_up() {
        if (write_fd_ >= 0) ::close(write_fd_);
        write_fd_ = -1;
    }
    Subprocess& program() { return *program_; }

  private:
    int write_fd_ = -1;
    std::optional<Subprocess> program_;
};

}  // namespace sluice::test
