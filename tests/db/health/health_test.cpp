// SPDX-License-Identifier: LGPL-3.0-or-later
// Failures staged in a running project, one after the other: what is broken, what `sluice health` says, and that all is
// well again when it is mended.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "config/run/process_lock.h"
#include "config/run/run_state.h"
#include "sluice/base/files.h"
#include "sluice/base/log_record.h"
#include "sluice/base/project.h"
#include "tests/support/answering_server.h"
#include "tests/support/paths.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

class HealthOfProject : public testing::Test {
  protected:
    HealthOfProject() : project_(PrivateMariaDb::shared(), "health") {
        project_.set_port(web_.port());
        std::string config = text_of(project_.folder() / "config.xml");
        config.insert(config.find("</boinc>"),
                      "<daemons><daemon><cmd>feeder -d 3</cmd></daemon><daemon><cmd>transitioner -d 3 "
                      "--sleep_interval 1</cmd></daemon><daemon><cmd>my_validator --app up</cmd></daemon><daemon><cmd>"
                      "my_assimilator --app up</cmd></daemon></daemons>\n"
                      "<tasks><task><cmd>my_task</cmd><period>1 days</period></task></tasks>\n");
        std::ofstream(config_file()) << config;
        for (const char* name : {"start", "stop", "status", "feeder", "transitioner", "sluice"}) {
            const bool is_start = std::string(name) == "stop" || std::string(name) == "status";
            fs::create_symlink(fs::path(binary_dir()) / "bin" / (is_start ? "start" : name),
                               project_.folder() / "bin" / name);
        }
        for (const char* name : {"my_validator", "my_assimilator", "my_task"}) {
            const fs::path file = project_.folder() / "bin" / name;
            std::ofstream(file) << "#!/bin/sh\n"
                                << (std::string(name) == "my_task" ? "exit 0" : "exec sleep 3600") << "\n";
            fs::permissions(file, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec);
        }
        // Of a project that is a month old.
        fs::last_write_time(project_.folder() / "keys/code_sign_public",
                            fs::file_time_type::clock::now() - std::chrono::days(30));
        project_.store();
        project_.add_unsent_jobs(20);
        shell("bin/start; bin/start --cron");
    }
    ~HealthOfProject() override { shell("bin/stop"); }

    RunResult shell(const std::string& commands) {
        RunOptions options;
        options.env = project_.env();
        options.cwd = project_.folder();
        return run({"/bin/sh", "-c", commands}, options);
    }
    fs::path config_file() const { return project_.folder() / "config.xml"; }
    fs::path in_project(const std::string& name) const { return project_.folder() / name; }
    std::string host_folder(const std::string& kind) const {
        return in_project(kind + "_" + short_host_name()).string();
    }
    void sql(SqlLiteral statement) { project_.db().execute(Sql(statement)); }
    pid_t daemon(const std::string& name) const {
        return lock_holder(host_folder("pid") + "/" + name + ".lock").value_or(0);
    }

    struct Answer {
        int status = 0;
        std::string health, says, remedy, all;
    };
    Answer ask(const std::string& check) {
        const RunResult answered = shell("bin/sluice health --json .");
        Answer answer{answered.status, "", "", "", answered.out + answered.err};
        const auto json = nlohmann::json::parse(answered.out, nullptr, false);
        if (json.is_discarded()) return answer;
        for (const auto& each : json.at("checks")) {
            if (each.at("id") != check) continue;
            answer.health = each.at("health");
            answer.says = each.at("says");
            answer.remedy = each.at("remedy");
        }
        return answer;
    }

    /// Not faster than MariaDB renews its list of locks (HealthStore::lock_waits).
    static bool in_time(const std::function<bool()>& condition) { return eventually(condition, 120, 0.2); }

    /// Breaks something, waits until health says so, mends it, and waits until all is well.
    void stage(const std::string& name, const std::string& check, const std::string& health, const std::string& says,
               const std::function<void()>& plant, const std::function<void()>& mend) {
        SCOPED_TRACE(name);
        plant();
        const auto planted = std::chrono::steady_clock::now();
        Answer answer;
        EXPECT_TRUE(in_time([&] {
            answer = ask(check);
            return answer.health == health && answer.says.find(says) != std::string::npos;
        })) << answer.all;
        const std::chrono::duration<double> later = std::chrono::steady_clock::now() - planted;
        table_ += fmt::format("| {} | `{}` | {} | {} | {:.1f} |\n", name, check, health, says, later.count());
        EXPECT_NE(answer.remedy, "") << answer.says;
        EXPECT_EQ(answer.status == 0, health == "well");
        mend();
        EXPECT_TRUE(in_time([&] { return (answer = ask(check)).health == "well"; })) << answer.all;
    }

    void stage_of_processes();
    void stage_of_files();
    void fill_server(std::vector<std::unique_ptr<Database>>& holders);
    void stage_of_database();
    void stage_of_locks();
    void stage_of_rows();
    void stage_of_web_server();

    AnsweringServer web_;
    TestProject project_;
    std::string table_;  ///< a line for each failure, as docs/health.md has them
};

void HealthOfProject::stage_of_processes() {
    pid_t stopped = 0;
    stage(
        "a daemon was killed", "daemons", "broken", "'feeder -d 3' does not run",
        [&] { ::kill(daemon("feeder"), SIGKILL); }, [&] { shell("bin/start --cron"); });
    stage(
        "a daemon hangs", "daemons", "broken", "hangs", [&] { ::kill(stopped = daemon("transitioner"), SIGSTOP); },
        [&] { ::kill(stopped, SIGCONT); });
    stage(
        "a program of the project's is gone", "daemons", "broken", "'my_validator --app up' does not run",
        [&] { ::kill(daemon("my_validator"), SIGKILL); }, [&] { shell("bin/start --cron"); });
    stage(
        "the project is stopped", "project", "broken", "is stopped", [&] { shell("bin/stop"); },
        [&] { shell("bin/start"); });
    stage(
        "stop_sched was forgotten", "project", "broken", "stop_sched",
        [&] { std::ofstream(in_project("stop_sched")) << ""; }, [&] { fs::remove(in_project("stop_sched")); });
    stage(
        "log_levels was forgotten", "project", "degraded", "log_levels",
        [&] { std::ofstream(in_project("log_levels")) << "all 3\n"; }, [&] { fs::remove(in_project("log_levels")); });
    stage(
        "nobody reads the tables again", "project", "degraded", "reread_db",
        [&] {
            ::kill(stopped = daemon("feeder"), SIGSTOP);
            const fs::path file = in_project("reread_db");
            std::ofstream(file) << "";
            EXPECT_EQ(ask("project").health, "well") << "it is there for a moment after each change";
            fs::last_write_time(file, fs::last_write_time(file) - std::chrono::seconds(400));
        },
        [&] { fs::remove(in_project("reread_db")), ::kill(stopped, SIGCONT); });
    const fs::path state_file = in_project("run_state_" + short_host_name() + ".xml");
    const auto set_last_run = [&](double time) {
        RunState state = read_run_state(state_file);
        state.last_run["my_task"] = time;
        write_run_state(state_file, state);
    };
    stage(
        "cron does not run", "tasks", "broken", "'my_task' is the first", [&] { set_last_run(1e9); },
        [&] { set_last_run(static_cast<double>(std::time(nullptr))); });
    stage(
        "the state file is damaged", "project", "degraded", "run_state",
        [&] {
            fs::copy_file(state_file, in_project("kept"));
            std::ofstream(state_file) << "<boinc>";
        },
        [&] { fs::rename(in_project("kept"), state_file); });
}

void HealthOfProject::stage_of_files() {
    const auto rename = [&](const std::string& from, const std::string& to) {
        return [=, this] { fs::rename(in_project(from), in_project(to)); };
    };
    stage("the upload folder is gone", "disks", "broken", "uploads", rename("upload", "was"), rename("was", "upload"));
    stage("the public key is gone", "keys", "broken", "upload_public", rename("keys/upload_public", "keys/was"),
          rename("keys/was", "keys/upload_public"));
    stage("the private key is gone", "keys", "broken", "upload_private", rename("keys/upload_private", "keys/was"),
          rename("keys/was", "keys/upload_private"));
    const std::string config = text_of(config_file());
    stage(
        "config.xml is no XML", "project", "broken", "config.xml",
        [&] { std::ofstream(config_file()) << "<boinc><conf"; }, [&] { std::ofstream(config_file()) << config; });
    std::ofstream log(host_folder("log") + "/my_validator.log", std::ios::app);
    const auto stamp = [](std::time_t time) {
        char text[40];
        std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S.0000 UTC", std::gmtime(&time));
        return std::string(text);
    };
    stage(
        "a program of the project's fails", "logs", "degraded", "my_validator.log: 2 times",
        [&] {
            const std::string now = stamp(std::time(nullptr)) + " [CRITICAL] no reference file\n";
            log << stamp(std::time(nullptr) - 86400) << " [CRITICAL] old\n" << now << now << std::flush;
        },
        [&] { fs::remove(host_folder("log") + "/my_validator.log"); });
    stage(
        "a daemon that writes records fails", "logs", "degraded", "feeder.log: 1 times in ten minutes: no \"memory\"",
        [&] {
            std::ofstream(host_folder("log") + "/feeder.log", std::ios::app)
                << json_line({std::time(nullptr) * 1000LL, "critical", "feeder", 7, "", "no \"memory\""});
        },
        [&] { fs::resize_file(host_folder("log") + "/feeder.log", 0); });
    stage(
        "no host gets work", "scheduler", "degraded", "none of the last 60",
        [&] {
            std::ofstream replies(host_folder("log") + "/scheduler.log", std::ios::app);
            for (int i = 0; i < 60; ++i)
                replies << stamp(std::time(nullptr)) +
                               " [PID=1    ] Sending reply to [HOST#7]: 0 results, delay req 7.00\n";
        },
        [&] { fs::resize_file(host_folder("log") + "/scheduler.log", 0); });
}

/// Takes all connections that are left.
void HealthOfProject::fill_server(std::vector<std::unique_ptr<Database>>& holders) {
    sql("SET GLOBAL max_connections = 40");
    DbSettings settings = PrivateMariaDb::shared().settings("health");
    settings.patience = 0;
    try {
        for (int i = 0; i < 100; ++i) {
            holders.push_back(std::make_unique<Database>(settings));
            holders.back()->connect();
        }
        FAIL() << "the server took 100 connections";
    } catch (const DbError& error) {
        EXPECT_EQ(error.code(), 1040) << error.what();
    }
}

void HealthOfProject::stage_of_database() {
    PrivateMariaDb& server = PrivateMariaDb::shared();
    stage(
        "the database server is down", "database", "broken", "connect", [&] { server.stop(); },
        [&] {
            server.start();
            project_.db().disconnect();
        });
    auto stopped = std::make_unique<StoppedServer>(server);
    EXPECT_TRUE(in_time([&] { return ask("database").says.find("in time") != std::string::npos; }));
    EXPECT_EQ(ask("supply").health, "well") << "what does not need it is judged";
    stopped.reset();
    EXPECT_TRUE(in_time([&] { return ask("database").health == "well"; })) << ask("database").all;
    std::vector<std::unique_ptr<Database>> holders;
    stage(
        "the server is full", "database", "broken", "raise max_connections", [&] { fill_server(holders); },
        [&] {
            holders.clear();
            sql("SET GLOBAL max_connections = 151");
        });
    stage(
        "the server is read-only", "database", "broken", "read-only", [&] { sql("SET GLOBAL read_only = 1"); },
        [&] { sql("SET GLOBAL read_only = 0"); });
    stage(
        "a column is gone", "database", "broken", "hr_class",
        [&] { sql("ALTER TABLE workunit RENAME COLUMN hr_class TO x"); },
        [&] { sql("ALTER TABLE workunit RENAME COLUMN x TO hr_class"); });
    stage(
        "a daemon fails each turn", "daemons", "degraded", "transition_time",
        [&] { sql("ALTER TABLE workunit RENAME COLUMN transition_time TO x"); },
        [&] { sql("ALTER TABLE workunit RENAME COLUMN x TO transition_time"); });
}

void HealthOfProject::stage_of_locks() {
    const DbSettings settings = PrivateMariaDb::shared().settings("health");
    Database holder(settings), waiter(settings);
    std::thread waiting;
    stage(
        "somebody holds a lock", "database", "degraded", "for a lock of connection",
        [&] {
            holder.execute(Sql("START TRANSACTION"));
            holder.execute(Sql("UPDATE workunit SET opaque = 1 WHERE id = 1"));
            waiter.execute(Sql("SET SESSION innodb_lock_wait_timeout = 1000"));
            waiting = std::thread([&] { waiter.execute(Sql("UPDATE workunit SET opaque = 0 WHERE id = 1")); });
        },
        [&] {
            holder.execute(Sql("ROLLBACK"));
            waiting.join();
        });
}

void HealthOfProject::stage_of_rows() {
    const auto workunits = [&](SqlLiteral set, SqlLiteral back) {
        return std::pair([=, this] { sql(set); }, [=, this] { sql(back); });
    };
    // mod_time is set by the server, unless a statement does.
    const auto [validate, validated] =
        workunits("UPDATE workunit SET need_validate = 1, mod_time = NOW() - INTERVAL 2 HOUR WHERE id <= 3",
                  "UPDATE workunit SET need_validate = 0");
    stage("nobody validates", "flow", "degraded", "3 workunits of up wait for a validator", validate, validated);
    const auto [assimilate, assimilated] =
        workunits("UPDATE workunit SET assimilate_state = 1, mod_time = NOW() - INTERVAL 1 DAY WHERE id <= 3",
                  "UPDATE workunit SET assimilate_state = 0");
    stage("nobody assimilates", "flow", "broken", "3 workunits of up wait for an assimilator", assimilate, assimilated);
    const auto [remove, removed] =
        workunits("UPDATE workunit SET file_delete_state = 1, mod_time = NOW() - INTERVAL 2 HOUR WHERE id <= 3",
                  "UPDATE workunit SET file_delete_state = 0");
    stage("nobody deletes files", "flow", "degraded", "wait for file_deleter", remove, removed);
    pid_t transitioner = 0;
    stage(
        "nobody makes transitions", "flow", "broken", "a transition is due for 2 h",
        [&] {
            ::kill(transitioner = daemon("transitioner"), SIGSTOP);
            sql("UPDATE workunit SET transition_time = UNIX_TIMESTAMP() - 7300 WHERE id = 1");
        },
        [&] { ::kill(transitioner, SIGCONT); });
    const auto results = [&](SqlLiteral set) {
        return [=, this] {
            Sql all("UPDATE result SET server_state = 5, received_time = UNIX_TIMESTAMP(), ");
            sql("UPDATE workunit SET transition_time = 2000000000");
            project_.db().execute(all << set);
        };
    };
    const auto unsent = results(
        "server_state = 2, outcome = 0, client_state = 0, validate_state = 0, received_time = 0, exit_status = 0");
    stage("an input file was deleted", "results", "broken", "20 of 20 results of the last hour failed with a download",
          results("outcome = 3, client_state = 1"), unsent);
    stage("an app version crashes", "results", "degraded", "20 of 20 results of the last hour failed on the client",
          results("outcome = 3, client_state = 3, validate_state = 2"), [&] {
              EXPECT_EQ(ask("results").says.find("none is valid"), std::string::npos) << "nobody judged them";
              unsent();
          });
    stage("deadlines are too short", "results", "degraded", "20 of 20 results of the last hour came too late",
          results("outcome = 4, received_time = 0, report_deadline = UNIX_TIMESTAMP() - 5"), unsent);
    results(
        "received_time = IF(id % 2, 0, received_time), outcome = IF(id % 2, 4, 3), client_state = 6, "
        "exit_status = IF(id % 2, 0, 202), report_deadline = UNIX_TIMESTAMP() + 3600")();
    EXPECT_EQ(ask("results").health, "well") << "one batch was cancelled, one given up early and may still come";
    unsent();
    stage("every result is invalid", "results", "broken", "none is valid",
          results("outcome = 1, client_state = 5, validate_state = 2"), unsent);
    const std::string config = text_of(config_file());
    stage(
        "an app has no validator", "flow", "degraded", "up",
        [&] {
            std::string without = config;
            const std::string entry = "<daemon><cmd>my_validator --app up</cmd></daemon>";
            std::ofstream(config_file()) << without.erase(without.find(entry), entry.size());
        },
        [&] { std::ofstream(config_file()) << config; });
}

void HealthOfProject::stage_of_web_server() {
    const std::string good = "HTTP/1.0 200 OK\r\n\r\n" + kGoodReplies;
    stage(
        "the web server fails", "scheduler", "broken", "503 Service Unavailable",
        [&] { web_.say("HTTP/1.0 503 Service Unavailable\r\n\r\nsorry"); }, [&] { web_.say(good); });
    stage(
        "uploads are refused", "uploads", "broken", "file_upload_handler answers 'can't write to the upload folder'",
        [&] {
            web_.say(
                "HTTP/1.0 200 OK\r\n\r\n<scheduler_reply>\n</scheduler_reply>\n<data_server_reply>\n<status>1</status>\n"
                "<message>can't write to the upload folder</message>\n</data_server_reply>\n");
        },
        [&] { web_.say(good); });
    web_.say(
        "HTTP/1.0 200 OK\r\n\r\n<scheduler_reply>\n</scheduler_reply>\n<data_server_reply>\n<status>1</status>\n"
        "<message>File uploads are temporarily disabled.</message>\n</data_server_reply>\n");
    stage(
        "stop_upload was forgotten", "project", "broken", "stop_upload",
        [&] { std::ofstream(in_project("stop_upload")) << ""; },
        [&] {
            EXPECT_EQ(ask("uploads").health, "well") << "the file says it, and no log says more";
            fs::remove(in_project("stop_upload"));
            web_.say(good);
        });
    stage(
        "the upload handler is gone", "uploads", "broken", "answers 'HTTP/1.0 200 OK' and no data_server_reply",
        [&] { web_.say("HTTP/1.0 200 OK\r\n\r\n<scheduler_reply>\n</scheduler_reply>\n"); }, [&] { web_.say(good); });
    const std::string config = text_of(config_file());
    stage(
        "nobody serves that port", "scheduler", "broken", "nobody answers",
        [&] {
            std::string other = config;
            const std::string port = ":" + std::to_string(web_.port()) + "/";
            for (std::size_t at = 0; (at = other.find(port, at)) != std::string::npos;)
                other.replace(at, port.size(), ":1/");
            std::ofstream(config_file()) << other;
        },
        [&] { std::ofstream(config_file()) << config; });
}

/// A server tells times of locks in its machine's zone.
const bool kElsewhere = ::setenv("TZ", "Asia/Tokyo", 1) == 0;

TEST_F(HealthOfProject, EachFailureIsNamedAndForgotten) {
    RunResult said;
    EXPECT_TRUE(in_time([&] { return (said = shell("bin/sluice health .")).status == 0; })) << said.out << said.err;
    stage_of_processes();
    stage_of_files();
    stage_of_database();
    stage_of_locks();
    stage_of_rows();
    stage_of_web_server();
    if (const char* file = std::getenv("SLUICE_HEALTH_TABLE")) std::ofstream(file) << table_;
}

TEST_F(HealthOfProject, HasThreeFormsAndWritesNothing) {
    EXPECT_TRUE(in_time([&] { return shell("bin/sluice health .").status == 0; }));
    const RunResult metrics = shell("bin/sluice health --prometheus .");
    EXPECT_THAT(metrics.out, testing::HasSubstr("\nsluice_health_state{check=\"daemons\"} 0\n"));
    const RunResult status = shell("bin/status --health");
    EXPECT_EQ(status.status, 0) << status.out << status.err;
    EXPECT_THAT(status.out, testing::EndsWith("\nwell\n"));
    EXPECT_EQ(shell("bin/sluice health --json --prometheus .").status, 2);
    std::ofstream(in_project("relay_only")) << "";
    EXPECT_EQ(ask("project").health, "well") << "a setting, for as long as an admin wants it";
    std::ofstream(in_project("stop_sched")) << "";
    EXPECT_EQ(shell("bin/status --health --quiet").out, "") << "once may be an accident";
    const RunResult told = shell("bin/status --health --quiet");
    EXPECT_EQ(told.status, 2);
    EXPECT_THAT(told.out, testing::HasSubstr("stop_sched"));
    EXPECT_EQ(shell("bin/status --health --quiet").out, "") << "it has been said";
    EXPECT_EQ(shell("bin/sluice health no_such_folder").status, 2);
    EXPECT_THAT(shell("bin/sluice health ''").err, testing::HasSubstr("give one project's folder"));
}

}  // namespace
}  // namespace sluice::test
