// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice adopt and sluice revert where the project's own start and stop can't run, as in a container of another image.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <map>

#include "sluice/base/project.h"
#include "tests/db/going_back/adopted_project.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

constexpr const char* kOldPrograms[] = {"bin/feeder", "bin/transitioner", "bin/show_shmem", "cgi-bin/cgi"};
constexpr const char* kNoInterpreter = "#!/usr/bin/env no-such-interpreter\nimport boinc_path_config\n";
constexpr const char* kNoModule = "#!/usr/bin/env python3\nimport boinc_path_config\n";

class MovedElsewhere : public AdoptedProject {
  protected:
    /// Old programs that are none of ours, and work all the same.
    MovedElsewhere() {
        fs::remove(project_.folder() / "cgi-bin/fcgi");
        for (const char* name : kOldPrograms) {
            fs::remove(project_.folder() / name);
            script(project_.folder() / name, "#!/bin/bash\nexec -a " + (project_.folder() / name).string() + " " +
                                                 (fs::path(binary_dir()) / name).string() + " \"$@\"\n");
        }
        for (const char* name : {"start", "stop", "status"}) fs::remove(project_.folder() / "bin" / name);
        script(project_.folder() / "bin/start", old_start());
        for (const char* name : {"stop", "status"})  // as BOINC's make_project makes them
            fs::create_symlink(project_.folder() / "bin/start", project_.folder() / "bin" / name);
        script(project_.folder() / "bin/rotate_logs", "#!/bin/sh\necho their rotate_logs\n");
        script(project_.folder() / "bin/our_own", "#!/bin/sh\necho a program of the project\n");
    }
    static std::string old_start() {
        return "#!/bin/bash\n# boinc_path_config\n[ \"$1\" != --help ] || exit 1\nexec -a \"$0\" " +
               (fs::path(binary_dir()) / "bin/start").string() + " \"$@\"\n";
    }
    void set_start(const std::string& text) { script(project_.folder() / "bin/start", text); }
    /// It worked where it was, and was not stopped there by an admin.
    void come_from_elsewhere(const std::string& its_start) {
        ASSERT_EQ(shell("bin/start").status, 0);
        work(2);
        ASSERT_EQ(shell("bin/stop").status, 0);
        const fs::path state = project_.folder() / ("run_state_" + short_host_name() + ".xml");
        std::string text = text_of(state);
        const std::size_t at = text.find("<enabled>");
        ASSERT_NE(at, std::string::npos) << text;
        text.replace(at, text.find("</enabled>", at) - at, "<enabled>1");
        std::ofstream(state) << text;
        set_start(its_start);
    }
    /// What stands in bin and cgi-bin, and beside them in the project.
    std::map<std::string, std::string> programs() const {
        std::map<std::string, std::string> all;
        for (const char* folder : {"bin", "cgi-bin"})
            for (const auto& entry : fs::directory_iterator(project_.folder() / folder))
                all[entry.path()] = entry.is_symlink()     ? fs::read_symlink(entry.path()).string()
                                    : entry.is_directory() ? "a folder"
                                                           : text_of(entry.path());
        all["the link"] = fs::exists(fs::symlink_status(project_.folder() / "sluice")) ? "there" : "";
        return all;
    }
    void expect_refusal() {
        set_start(kNoInterpreter);
        const auto before = programs();
        const RunResult refused = sluice("adopt --watch 2 .");
        EXPECT_EQ(refused.status, 2) << refused.out;
        EXPECT_THAT(refused.err, HasSubstr("feeder, transitioner run: stop the project where they were started"));
        EXPECT_EQ(programs(), before);
        EXPECT_FALSE(fs::exists(project_.folder() / "before-sluice"));
    }
    void there_and_back(const std::string& its_start) {
        ASSERT_NO_FATAL_FAILURE(come_from_elsewhere(its_start));
        const auto before = programs();
        const std::string old_config = config(), old_cgi = text_of(project_.folder() / "cgi-bin/cgi");
        EXPECT_EQ(sluice("adopt --dry_run .").status, 1);
        EXPECT_EQ(programs(), before);
        const RunResult moved = sluice("adopt --watch 3 .");
        ASSERT_EQ(moved.status, 0) << moved.out << moved.err;
        EXPECT_THAT(moved.out, HasSubstr("bin/stop can't run here ("));
        EXPECT_THAT(shell("bin/rotate_logs --version").out, HasSubstr("Sluice"));
        EXPECT_EQ(shell("bin/our_own").out, "a program of the project\n");
        work(3);
        expect_rows_in_order();
        EXPECT_EQ(shell("bin/status --quiet").status, 0);

        const RunResult back = sluice("revert .");
        ASSERT_EQ(back.status, 0) << back.out << back.err;
        EXPECT_THAT(back.out, HasSubstr("start it where its old programs run"));
        expect_old_again(old_cgi, old_config);
        EXPECT_EQ(programs(), before);
        set_start(old_start());
        ASSERT_EQ(shell("bin/start").status, 0);
        work(2);
        expect_rows_in_order();
    }
};

TEST_F(MovedElsewhere, WithoutAnInterpreterAllProgramsAreReplaced) { there_and_back(kNoInterpreter); }
TEST_F(MovedElsewhere, WithoutItsModulesAllProgramsAreReplaced) { there_and_back(kNoModule); }

TEST_F(MovedElsewhere, RefusesWhileItsDaemonsRun) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    expect_refusal();
    set_start(old_start());
}

/// A container of another host name keeps its locks in folders of that name.
TEST_F(MovedElsewhere, RefusesWhileDaemonsRunUnderAnotherHostName) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    const auto rename_folders = [&](const std::string& from, const std::string& to) {
        for (const std::string kind : {"pid_", "run_lock_"}) {
            fs::remove_all(project_.folder() / (kind + to));
            fs::rename(project_.folder() / (kind + from), project_.folder() / (kind + to));
        }
    };
    rename_folders(short_host_name(), "container");
    expect_refusal();
    rename_folders("container", short_host_name());
    set_start(old_start());
}

/// Also one that is somebody's own, which is not asked for its help.
TEST_F(MovedElsewhere, AScriptThatRunsIsUsed) {
    // Ours is not asked whether it serves again: during a move it says no.
    for (const char* name : kOldPrograms)
        fs::copy_file(fs::path(binary_dir()) / name, project_.folder() / name, fs::copy_options::overwrite_existing);
    ASSERT_EQ(shell("bin/start").status, 0);
    const std::string real = "exec -a \"$0\" " + (fs::path(binary_dir()) / "bin/start").string() + " \"$@\"\n";
    for (const std::string& text : {old_start(), "#!/bin/bash\n[ \"$1\" != --help ] || exit 127\n" + real}) {
        set_start(text);
        const RunResult moved = sluice("adopt --watch 2 .");
        ASSERT_EQ(moved.status, 0) << moved.out << moved.err;
        EXPECT_EQ(text_of(project_.folder() / "bin/start"), text);
        EXPECT_EQ(shell("bin/rotate_logs").out, "their rotate_logs\n");
        const RunResult back = sluice("revert .");
        ASSERT_EQ(back.status, 0) << back.out << back.err;
    }
    work(1);
    expect_rows_in_order();
}

TEST_F(MovedElsewhere, AFailureLeadsBack) {
    ASSERT_NO_FATAL_FAILURE(come_from_elsewhere(kNoInterpreter));
    const auto before = programs();
    const std::string old_config = config(), old_cgi = text_of(project_.folder() / "cgi-bin/cgi");
    wrap("transitioner", "#!/bin/sh\nexit 1\n");
    const RunResult moved = sluice("adopt --watch 5 .");
    EXPECT_EQ(moved.status, 2) << moved.out;
    EXPECT_THAT(moved.err, HasSubstr("The project has its old programs again: "));
    expect_old_again(old_cgi, old_config);
    EXPECT_EQ(programs(), before);
    set_start(old_start());
}

TEST_F(MovedElsewhere, TheNextCallFinishesAKilledMove) {
    ASSERT_NO_FATAL_FAILURE(come_from_elsewhere(kNoInterpreter));
    const auto before = programs();
    const std::string old_config = config(), old_cgi = text_of(project_.folder() / "cgi-bin/cgi");
    const auto kill_at = [&](const std::string& arguments, const std::string& said) {
        const auto move = begin(arguments);
        EXPECT_TRUE(move->wait_for_output(said)) << move->out() << move->err();
        move->send_signal(SIGKILL);
        move->wait();
    };
    for (const char* said : {"Keep in", "From now on", "Stopping", "Putting Sluice's", "Starting", "watching for"})
        kill_at("adopt --watch 2 .", said);
    const RunResult moved = sluice("adopt --watch 2 .");
    ASSERT_EQ(moved.status, 0) << moved.out << moved.err;
    work(1);
    for (const char* said : {"From now on", "Stopping", "Cleaning", "Putting BOINC's"}) kill_at("revert .", said);
    const RunResult back = sluice("revert .");
    ASSERT_EQ(back.status, 0) << back.out << back.err;
    expect_old_again(old_cgi, old_config);
    EXPECT_EQ(programs(), before);
    set_start(old_start());
}

}  // namespace
}  // namespace sluice::test
