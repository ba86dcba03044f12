// SPDX-License-Identifier: LGPL-3.0-or-later
// BOINC's tools/upgrade, over a project of Sluice's: as it copies (through links, a file that is there keeps its mode),
// renames and links, so does a script of ours, by the project's account and by root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <regex>

#include "config/options/permissions.h"
#include "config/run/own_programs.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/users.h"
#include "sluice/daemon/check_arguments.h"
#include "tests/db/project/accounts.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// upgrade.py FOLDER PROJECT [by_force]: FOLDER holds the new programs.
constexpr const char* kUpgrade = R"(
import os, shutil, sys
source, project = sys.argv[1:3]
by_force = len(sys.argv) > 3
def install(name, target):
    if by_force and os.path.lexists(target) and not os.path.islink(target) and not os.path.isdir(target):
        os.chmod(target, 0o755)
    try:
        shutil.copy(os.path.join(source, name), target)
    except OSError as error:
        print('failed to copy', target, error)
install('start', project + '/bin/start')
for name in ('stop', 'status'):
    os.unlink(project + '/bin/' + name)
    os.symlink(project + '/bin/start', project + '/bin/' + name)
for name in ('cgi', 'file_upload_handler'):
    target = project + '/cgi-bin/' + name
    try:
        if os.path.isfile(target):
            os.rename(target, target + '.old')
    except OSError:
        if not by_force: raise
    install(name, target)
for name in ('feeder', 'file_deleter'):
    install(name, project + '/bin/' + name)
)";

class Upgrade : public Accounts {
  protected:
    Upgrade() {
        for (const char* name :
             {"bin/start", "bin/feeder", "bin/make_project", "cgi-bin/cgi", "cgi-bin/file_upload_handler"}) {
            fs::create_directories((prefix_ / name).parent_path());
            fs::copy_file(fs::path(binary_dir()) / name, prefix_ / name);
        }
        for (const char* name : {"stop", "status"}) fs::create_symlink("start", prefix_ / "bin" / name);
        for (const char* name : {"start", "cgi", "file_upload_handler", "feeder", "file_deleter"})
            fs::permissions(dir_.write(std::string("theirs/") + name, "#!/bin/sh\necho theirs\n"), fs::perms(0755));
        dir_.write("upgrade.py", kUpgrade);
        before_ = programs(prefix_);
    }
    void make(const std::vector<std::string>& more = {}) {
        std::vector<std::string> words = make_project_command(root_, prefix_, more);
        words.emplace_back("--no_db");
        if (::geteuid() == 0) words.insert(words.end(), {"--user", "games", "--web_user", "www-data"});
        const RunResult made = run(words, options(false));
        ASSERT_EQ(made.status, 0) << made.err;
        std::string config = read_file(root_ / "config.xml").value_or("");
        config = std::regex_replace(config, std::regex("<daemon>[^]*</daemon>"), "");
        write_file_atomically(root_ / "config.xml", config, 0644);
    }
    /// As the project's account; root may become it.
    RunResult as_project(std::vector<std::string> words) const {
        const std::vector<std::string> become{"setpriv", "--reuid=games", "--regid=games", "--clear-groups"};
        if (::geteuid() == 0) words.insert(words.begin(), become.begin(), become.end());
        RunOptions in_project = options(false);
        in_project.cwd = root_;
        in_project.unset.emplace_back("BOINC_PROJECT_DIR");
        return run(words, in_project);
    }
    std::vector<std::string> upgrade(bool by_force) const {
        std::vector<std::string> words{"/usr/bin/python3", dir_ / "upgrade.py", dir_ / "theirs", root_};
        if (by_force) words.emplace_back("by_force");
        return words;
    }
    static std::map<std::string, std::string> programs(const fs::path& folder) {
        std::map<std::string, std::string> texts;
        for (const char* part : {"bin", "cgi-bin"})
            for (const auto& entry : fs::directory_iterator(folder / part))
                if (entry.is_regular_file()) texts[entry.path().string()] = read_file(entry.path()).value_or("");
        return texts;
    }
    void expect_prefix_unchanged() const { EXPECT_TRUE(programs(prefix_) == before_); }
    RunResult check() const {
        return run({binary_dir() + "/bin/sluice_options", "--check", root_.string()}, options(false));
    }
    /// All that must name a program, the command that they print, and that it helps.
    void expect_named_and_mended(const std::vector<std::string>& names) {
        const ForeignPrograms found = foreign_programs(root_);
        EXPECT_THAT(found.names, testing::UnorderedElementsAreArray(names));
        const std::string command = found.line.substr(found.line.find("cd "));
        EXPECT_THAT(check().out, HasSubstr("error: " + found.line));
        EXPECT_EQ(check().status, 1);
        const RunResult started = as_project({(prefix_ / "bin/start").string()});
        EXPECT_THAT(started.err, HasSubstr(command)) << started.out;
        EXPECT_THAT(as_project({(prefix_ / "bin/feeder").string(), "--one_pass"}).err, HasSubstr(command));
        const RunResult mended = as_project({"sh", "-c", command});
        EXPECT_THAT(mended.out, HasSubstr("has the programs of ")) << mended.err;
        expect_well();
        expect_prefix_unchanged();
    }
    void expect_well() {
        EXPECT_THAT(foreign_programs(root_).names, IsEmpty());
        EXPECT_THAT(check().out, Not(HasSubstr("Sluice's (")));
        EXPECT_THAT(as_project({(root_ / "bin/status").string()}).out, HasSubstr("BOINC is "));
        EXPECT_EQ(as_project({(root_ / "bin/stop").string()}).status, 0);
        EXPECT_EQ(as_project({(root_ / "bin/feeder").string(), "--version"}).out,
                  run({(prefix_ / "bin/feeder").string(), "--version"}).out);
    }
    fs::path prefix_ = dir_ / "prefix";
    std::map<std::string, std::string> before_;
};

TEST_F(Upgrade, ByTheProjectsAccountReplacesNoProgram) {
    for (const char* how : {"--compat_level=1", "--copy"}) {
        SCOPED_TRACE(how);
        make({how});
        const RunResult ended = as_project(upgrade(false));
        EXPECT_EQ(ended.status, 1);
        EXPECT_THAT(ended.err, HasSubstr("cgi.old"));
        EXPECT_TRUE(fs::exists(root_ / "cgi-bin/cgi.old/README"));
        expect_prefix_unchanged();
        expect_well();
        fs::remove_all(root_);
    }
}

TEST_F(Upgrade, ByRootReplacesProjectsOwnStartAtMost) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    make();
    const RunResult ended = run(upgrade(false));
    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.err, HasSubstr("cgi.old"));
    expect_prefix_unchanged();
    expect_named_and_mended({"bin/start", "bin/stop", "bin/status"});
}

TEST_F(Upgrade, ReplacedFilesAreNamedAndCanComeBack) {
    for (const char* how : {"--compat_level=1", "--copy"}) {
        SCOPED_TRACE(how);
        make({how});
        ASSERT_EQ(run(upgrade(true)).status, 0);
        expect_prefix_unchanged();
        EXPECT_EQ(run({(root_ / "bin/feeder").string()}).out, "theirs\n");
        expect_named_and_mended(
            {"bin/start", "bin/stop", "bin/status", "bin/feeder", "cgi-bin/cgi", "cgi-bin/file_upload_handler"});
        EXPECT_EQ(run({(root_ / "bin/file_deleter").string()}).out, "theirs\n") << "that we don't have";
        fs::remove_all(root_);
    }
}

/// As a project has them that took Sluice's programs one by one, or before Sluice had tools of these names.
TEST_F(Upgrade, ProjectMayHaveItsOwnScriptsOfTools) {
    for (const char* tool : {"run_in_ops", "parse_config", "grep_logs"})
        fs::copy_file(fs::path(binary_dir()) / "bin" / tool, prefix_ / "bin" / tool);
    make();
    for (const char* tool : {"run_in_ops", "parse_config", "grep_logs"}) {
        fs::remove(root_ / "bin" / tool);
        fs::copy_file(dir_ / "theirs/feeder", root_ / "bin" / tool);
    }
    expect_well();
    fs::remove(root_ / "bin/feeder");
    fs::copy_file(dir_ / "theirs/feeder", root_ / "bin/feeder");
    EXPECT_THAT(foreign_programs(root_).names, testing::ElementsAre("bin/feeder"));
}

/// The old one is away, and the new one could not be copied.
TEST_F(Upgrade, AProgramThatIsGoneIsNamed) {
    make();
    fs::remove(root_ / "cgi-bin/cgi");
    expect_named_and_mended({"cgi-bin/cgi"});
}

/// A copy would stay what it was when Sluice is updated, and would not find the new feeder's array.
TEST_F(Upgrade, FcgiIsAnEntryToo) {
    make();
    write_file_atomically(root_ / "cgi-bin/fcgi", read_file(prefix_ / "cgi-bin/cgi").value(), 0755);
    const RunResult renewed = run({(prefix_ / "bin/make_project").string(), "--renew_programs", root_, "fcgi"});
    ASSERT_EQ(renewed.status, 0) << renewed.err;
    expect_well();
    EXPECT_TRUE(read_file(root_ / "cgi-bin/fcgi") == read_file(root_ / "cgi-bin/cgi"));
    EXPECT_EQ(installed_program(root_ / "cgi-bin/fcgi"), root_ / "sluice/cgi-bin/cgi");
    fs::remove(prefix_ / "cgi-bin/cgi");
    fs::permissions(dir_.write("prefix/cgi-bin/cgi", "#!/bin/sh\necho updated\n"), fs::perms(0755));
    EXPECT_EQ(as_project({(root_ / "cgi-bin/fcgi").string()}).out, "updated\n");
}

/// batch_stats is a link to batches, which has other options.
TEST_F(Upgrade, ProgramOfSeveralNamesIsAskedByOne) {
    fs::copy_file(fs::path(binary_dir()) / "bin/batches", prefix_ / "bin/batches");
    fs::create_symlink("batches", prefix_ / "bin/batch_stats");
    make();
    EXPECT_EQ(installed_program(root_ / "bin/batch_stats"), root_ / "sluice/bin/batch_stats");
    const std::string config = read_file(root_ / "config.xml").value();
    const auto says = [&](const std::string& cmd) {
        const std::string daemon = "<daemon><cmd>" + cmd + "</cmd></daemon></daemons>";
        write_file_atomically(root_ / "config.xml", std::regex_replace(config, std::regex("</daemons>"), daemon), 0644);
        return as_project({binary_dir() + "/bin/sluice_options", "--check", root_.string()}).out;
    };
    EXPECT_THAT(says("batch_stats --min_hosts 1"), AllOf(Not(HasSubstr("'batch_stats")), HasSubstr("config.xml")));
    EXPECT_THAT(says("batch_stats --enable_all 1"),
                HasSubstr("'batch_stats --enable_all 1' ends at once: batch_stats: "));
    fs::create_symlink("feeder", root_ / "bin/my_feeder");
    EXPECT_EQ(installed_program(root_ / "bin/my_feeder"), root_ / "sluice/bin/feeder");
}

/// As docs/install.md swaps programs: those that share the job array come from one house.
TEST_F(Upgrade, ProjectsThatShareTheArrayMatter) {
    make();
    fs::remove(root_ / kPrefixLink);
    for (const char* name : {"bin/start", "bin/feeder", "cgi-bin/cgi"}) {
        fs::remove(root_ / name);
        fs::copy_file(prefix_ / name, root_ / name);
    }
    EXPECT_THAT(foreign_programs(root_).names, IsEmpty());
    for (const char* name : {"bin/start", "bin/feeder", "cgi-bin/cgi"}) {
        fs::remove(root_ / name);
        fs::copy_file(dir_ / "theirs/feeder", root_ / name);
        const bool sharer = std::string(name) != "bin/start";
        EXPECT_EQ(foreign_programs(root_).names.size(), sharer && std::string(name) == "bin/feeder" ? 1u : 0u) << name;
    }
    fs::remove(root_ / "bin/feeder");
    fs::copy_file(prefix_ / "bin/feeder", root_ / "bin/feeder");
    const ForeignPrograms found = foreign_programs(root_);
    EXPECT_THAT(found.names, testing::ElementsAre("cgi-bin/cgi"));
    EXPECT_THAT(found.line, HasSubstr("no host gets work"));
    EXPECT_THAT(found.line, HasSubstr("make_project --renew_programs . cgi"));
    const RunResult renewed = run({(prefix_ / "bin/make_project").string(), "--renew_programs", root_, "cgi"});
    ASSERT_EQ(renewed.status, 0) << renewed.err;
    EXPECT_THAT(foreign_programs(root_).names, IsEmpty());
    EXPECT_TRUE(read_file(root_ / "cgi-bin/cgi") == read_file(prefix_ / "cgi-bin/cgi")) << "a copy, as the others";
    EXPECT_FALSE(fs::exists(fs::symlink_status(root_ / kPrefixLink)));
}

/// `sluice shadow --tee` looks: what stands behind the tee counts.
TEST_F(Upgrade, ATeeIsNoForeignProgram) {
    make();
    const fs::path cgi = root_ / "cgi-bin/cgi", behind = root_ / "cgi-bin/cgi.behind_tee";
    fs::rename(cgi, behind);
    fs::copy_file(fs::path(binary_dir()) / "bin/cgi_tee", cgi);
    EXPECT_THAT(foreign_programs(root_).names, IsEmpty());
    fs::remove(behind);
    fs::copy_file(dir_ / "theirs/feeder", behind);
    EXPECT_THAT(foreign_programs(root_).names, testing::ElementsAre("cgi-bin/cgi"));
}

/// adopt and canary would find out by trying it; check writes nothing.
TEST_F(Upgrade, AGroupThatCannotBeGivenIsNamed) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    make();
    const fs::path config = root_ / "config.xml";
    const gid_t others = 54321;
    ASSERT_EQ(::chown(config.c_str(), static_cast<uid_t>(-1), others), 0);
    fs::permissions(config, fs::perms(0640));
    const auto found = [&] {  // beside that of upload/, which only canary has to give
        auto all = groups_not_to_give(root_, log_dir(root_));
        std::erase_if(all, [](const PermissionFinding& finding) { return !finding.refused; });
        return all;
    };
    EXPECT_THAT(found(), IsEmpty()) << "nobody moves a project of Sluice's";
    fs::remove(root_ / kPrefixLink);
    ASSERT_EQ(found().size(), 1u);
    struct stat owner {};
    ASSERT_EQ(::stat(root_.c_str(), &owner), 0);
    const std::string command = "usermod -aG 54321 " + user_name(owner.st_uid);
    EXPECT_EQ(found()[0].command, command);
    const RunResult checked = run({binary_dir() + "/bin/sluice", "check", "--no_database", root_});
    EXPECT_THAT(checked.out, HasSubstr("As root: " + command + ", then log in anew"));
    fs::permissions(config, fs::perms(0644));
    EXPECT_THAT(found(), IsEmpty()) << "everybody reads it";
    fs::permissions(config, fs::perms(0640));
    ASSERT_EQ(::chown(root_.c_str(), static_cast<uid_t>(-1), others), 0);
    fs::permissions(root_, fs::perms::set_gid, fs::perm_options::add);
    EXPECT_THAT(found(), IsEmpty()) << "new files in the folder have that group";
}

TEST_F(Upgrade, WhatCantBeRenewedIsSaid) {
    make();
    const auto renew = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words{(prefix_ / "bin/make_project").string(), "--renew_programs"};
        words.insert(words.end(), more.begin(), more.end());
        const RunResult result = run(words, options(false));
        EXPECT_EQ(result.status, 1);
        return result.err;
    };
    EXPECT_THAT(renew({root_, "feder"}), HasSubstr("There is no program 'feder' in "));
    EXPECT_THAT(renew({prefix_}), HasSubstr("is no project"));
    EXPECT_THAT(renew({dir_ / "nowhere"}), HasSubstr("nowhere"));
    EXPECT_THAT(renew({root_, "--install_from", dir_ / "theirs"}), HasSubstr("--install_from"));
    EXPECT_THAT(renew({root_, "--install_from", root_}), HasSubstr("is the project itself"));
    expect_well();
}

TEST_F(Upgrade, EntryWithoutInstallationSaysWhereItLooked) {
    make();
    fs::rename(prefix_, dir_ / "elsewhere");
    const RunResult lost = as_project({(root_ / "bin/status").string()});
    EXPECT_EQ(lost.status, 127);
    EXPECT_THAT(lost.err, AllOf(HasSubstr((root_ / "sluice/bin/start").string()), HasSubstr("installed")));
    fs::rename(dir_ / "elsewhere", prefix_);
    fs::remove(root_ / kPrefixLink);
    fs::create_symlink(root_, root_ / kPrefixLink);
    EXPECT_EQ(as_project({(root_ / "bin/status").string()}).status, 127) << "not for ever";
}

TEST(OwnPrograms, AreKnownByTheHelpOfCheckArguments) {
    EXPECT_THAT(kCheckArgumentsHelp, HasSubstr(std::string(kOwnProgramText)));
}

}  // namespace
}  // namespace sluice::test
