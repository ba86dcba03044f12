// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project that sluice adopt and sluice revert move. The old programs are copies of ours.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>

#include "sluice/base/project.h"
#include "tests/db/going_back/swapped_project.h"

namespace sluice::test {

class AdoptedProject : public SwappedProject {
  protected:
    AdoptedProject() { install_old(binary_dir()); }
    /// BOINC's own programs, with its start, stop and status.
    void install_upstream(const fs::path& prefix) {
        fs::remove(project_.folder() / "cgi-bin/fcgi");
        for (const char* name : {"start", "stop", "status"}) fs::remove(project_.folder() / "bin" / name);
        for (const char* folder : {"bin", "cgi-bin"})
            fs::copy(
                prefix / folder, project_.folder() / folder,
                fs::copy_options::overwrite_existing | fs::copy_options::recursive | fs::copy_options::copy_symlinks);
        std::string text = config();  // BOINC's start needs both
        text.insert(text.find("</config>"), "<host>" + short_host_name() + "</host>\n");
        text.insert(text.find("</boinc>"), "<tasks></tasks>\n");
        std::ofstream(project_.folder() / "config.xml") << text;
    }
    RunResult sluice(const std::string& arguments) { return shell(through_ + command(arguments)); }
    static void script(const fs::path& file, const std::string& text) {
        std::ofstream(file) << text;
        fs::permissions(file, fs::perms::owner_all | fs::perms::others_exec);
    }
    /// A script in the place of an installed program.
    void wrap(const std::string& program, const std::string& text) {
        fs::remove(installed_ / "bin");
        fs::create_directory(installed_ / "bin");
        for (const auto& entry : fs::directory_iterator(fs::path(binary_dir()) / "bin"))
            if (entry.path().filename() != program)
                fs::create_symlink(entry.path(), installed_ / "bin" / entry.path().filename());
        script(installed_ / "bin" / program, text);
    }
    std::unique_ptr<Subprocess> begin(const std::string& arguments) {
        RunOptions options;
        options.env = project_.env();
        options.cwd = project_.folder();
        return std::make_unique<Subprocess>(
            std::vector<std::string>{"/bin/sh", "-c", "exec " + through_ + command(arguments)}, options);
    }
    /// From now on sluice finds this program before others of its name.
    void in_path(const std::string& program, const std::string& text) {
        script(path_ / program, text);
        through_ = "env PATH=" + path_.path().string() + ":$PATH ";
    }
    /// The database's client fails, or hangs, as soon as it is to clean the database and path_ has a file of that name.
    void client_that_may_fail() {
        const std::string folder = path_.path().string();
        in_path("mariadb", "#!/bin/sh\ntext=$(cat)\ncase $text in *sluice_drop*)\n[ ! -e " + folder +
                               "/broken ] || { echo 'ERROR 2002: no server' >&2; exit 1; }\n[ ! -e " + folder +
                               "/hangs ] || { echo $$ > " + folder +
                               "/pid; exec sleep 1000; } ;;\nesac\nPATH=${PATH#*:}\n"
                               "printf '%s\\n' \"$text\" | $(command -v mariadb || command -v mysql) \"$@\"\n");
    }
    void set(const std::string& name, bool there) const {
        there ? void(std::ofstream(path_ / name)) : void(fs::remove(path_ / name));
    }
    std::string command(const std::string& arguments) const {
        const std::string prefix =
            arguments.starts_with("check") ? "" : " --install_from " + installed_.path().string();
        return installed_.path() / ("bin/sluice " + arguments + prefix);
    }
    std::string config() const { return text_of(project_.folder() / "config.xml"); }
    void expect_old_again(const std::string& cgi, const std::string& config_before) {
        EXPECT_TRUE(text_of(project_.folder() / "cgi-bin/cgi") == cgi);
        EXPECT_EQ(config(), config_before);
        for (const char* name :
             {"bin/sched_explain", "bin/scheduler", "cgi-bin/cgi.old", "before-sluice", "sluice_moving"})
            EXPECT_FALSE(fs::exists(project_.folder() / name)) << name << shell("ls -lA before-sluice").out;
    }
    TempDir path_;
    std::string through_;  ///< what sluice is called by
};

}  // namespace sluice::test
