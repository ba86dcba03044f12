// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project with jobs whose programs are swapped, and a client that works through them: no job may be lost, doubled or
// stuck.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/test_project.h"

namespace sluice::test {

namespace fs = std::filesystem;

inline constexpr std::int64_t kJobs = 300;

inline std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The first block of commands below a heading of docs/install.md.
inline std::string commands_below(const std::string& heading) {
    const std::string page = text_of(source_dir() + "/docs/install.md");
    const std::size_t section = page.find("\n## " + heading + "\n"), first = page.find("\n    ", section);
    if (section == std::string::npos || first == std::string::npos) return "";
    return page.substr(first + 1, page.find("\n\n", first) - first);
}

class SwappedProject : public testing::Test {
  protected:
    SwappedProject() : server_(PrivateMariaDb::shared()), project_(server_, "swap") {
        fs::create_directories(installed_ / "share/sluice");
        for (const char* name : {"bin", "cgi-bin"})
            fs::create_directory_symlink(fs::path(binary_dir()) / name, installed_ / name);
        fs::create_symlink(source_dir() + "/db/going_back.sql", installed_ / "share/sluice/going_back.sql");
        std::string config = text_of(project_.folder() / "config.xml");
        config.insert(config.find("</boinc>"),
                      "<daemons><daemon><cmd>feeder -d 3</cmd></daemon><daemon><cmd>transitioner -d 3</cmd></daemon>"
                      "</daemons>\n");
        std::ofstream(project_.folder() / "config.xml") << config;
        for (const char* name : {"start", "stop", "status"})
            fs::create_symlink(fs::path(binary_dir()) / "bin/start", project_.folder() / "bin" / name);
        project_.store();
        project_.add_unsent_jobs(kJobs);
    }
    ~SwappedProject() override { shell("bin/stop"); }

    void install_old(const fs::path& prefix) {
        for (const char* name : {"bin/feeder", "bin/transitioner", "bin/show_shmem", "cgi-bin/cgi"})
            fs::copy_file(prefix / name, project_.folder() / name);
        // Upstream's FastCGI program, where a project has it.
        fs::copy_file(prefix / "cgi-bin/cgi", project_.folder() / "cgi-bin/fcgi");
    }
    RunResult shell(std::string commands) {
        const auto replace = [&](const std::string& what, const std::string& by) {
            for (std::size_t at = 0; (at = commands.find(what, at)) != std::string::npos; at += by.size())
                commands.replace(at, what.size(), by);
        };
        replace("/opt/sluice", installed_.path().string());
        replace("cd PROJECT", "cd " + project_.folder().string());
        RunOptions options;
        options.env = project_.env();
        options.cwd = project_.folder();
        return run({"/bin/sh", "-c", commands}, options);
    }

    /// One request that reports all jobs and asks for one, unless `seconds` is 0; what it got.
    std::vector<std::string> ask(int seconds = 1) {
        std::string reports;
        for (const std::string& name : held_)
            reports += "<result>\n<name>" + name +
                       "</name>\n<final_cpu_time>1</final_cpu_time>\n<final_elapsed_time>1</final_elapsed_time>\n"
                       "<exit_status>0</exit_status>\n<state>5</state>\n<platform>x86_64-pc-linux-gnu</platform>\n"
                       "<version_num>100</version_num>\n<file_info>\n</file_info>\n</result>\n";
        const std::string request = work_request(host_, ++seqno_, seconds, reports);
        RunOptions options;
        options.env = project_.env();
        options.env["REQUEST_METHOD"] = "POST";
        options.env["CONTENT_LENGTH"] = std::to_string(request.size());
        options.env["CONTENT_TYPE"] = "text/xml";
        options.env["REMOTE_ADDR"] = "127.0.0.1";
        options.cwd = project_.folder() / "cgi-bin";
        options.stdin_text = request;
        const std::string reply = run({(project_.folder() / "cgi-bin/cgi").string()}, options).out;
        for (const std::string& acknowledged : elements(reply, "result_ack"))
            for (const std::string& name : elements(acknowledged, "name")) held_.erase(name);
        if (const auto id = elements(reply, "hostid"); !id.empty()) host_ = std::stoll(id[0]);
        std::vector<std::string> got;
        for (const std::string& result : elements(reply, "result"))
            for (const std::string& name : elements(result, "name")) got.push_back(name);
        last_reply_ = reply;
        return got;
    }
    /// `n` requests that each report what the one before got, and get something.
    void work(int n) {
        for (int i = 0; i < n; ++i) {
            std::vector<std::string> got;
            ASSERT_TRUE(eventually([&] { return !(got = ask()).empty(); })) << last_reply_ << project_.scheduler_log();
            for (const std::string& name : got) {
                EXPECT_TRUE(sent_.insert(name).second) << name << " was sent twice";
                held_.insert(name);
            }
        }
    }
    void expect_rows_in_order() {
        const auto count = [&](SqlLiteral where) {
            return project_.count(Sql("SELECT COUNT(*) FROM result WHERE ") << where);
        };
        const auto sent = static_cast<std::int64_t>(sent_.size()), held = static_cast<std::int64_t>(held_.size());
        EXPECT_EQ(count("server_state=5 AND outcome=1"), sent - held);
        EXPECT_EQ(count("server_state=4"), held);
        EXPECT_EQ(count("server_state=2"), kJobs - sent);
        EXPECT_EQ(count("1"), kJobs);
    }

    PrivateMariaDb& server_;
    TempDir installed_;
    TestProject project_;
    Id host_ = 0;
    int seqno_ = 0;
    std::set<std::string> sent_, held_;
    std::string last_reply_;
};

}  // namespace sluice::test
