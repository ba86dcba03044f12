// SPDX-License-Identifier: LGPL-3.0-or-later
// Apps that no daemon validates or assimilates, and scripts that can't be called.
#include "config/options/app_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DaemonsAndTasks commands_of(const std::vector<std::string>& commands, const std::string& more) {
    std::string text;
    for (const std::string& cmd : commands) text += "<daemon><cmd>" + cmd + "</cmd>" + more + "</daemon>";
    return parse_daemons_and_tasks("<boinc><config/><daemons>" + text + "</daemons></boinc>", "config.xml");
}

std::vector<std::string> told_of(const std::vector<std::string>& commands, const std::string& more = "") {
    std::vector<App> apps(2);
    apps[0].name = "blast";
    apps[1].name = "old", apps[1].deprecated = true;
    return unserved_apps(apps, commands_of(commands, more));
}

TEST(UnservedApps, AreNamedWithTheDaemonThatServesThem) {
    EXPECT_THAT(told_of({"feeder -d 3", "transitioner", "make_work --app blast", "size_regulator --app_name blast"}),
                ElementsAre(HasSubstr("app blast has no validator"), HasSubstr("app blast has no assimilator")));
    EXPECT_THAT(told_of({"sample_bitwise_validator --app other", "script_assimilator --app blast --script x"}),
                ElementsAre(HasSubstr("<daemon><cmd>sample_bitwise_validator --app blast</cmd></daemon>")));
    EXPECT_THAT(told_of({"my_validator --app blast", "my_assimilator --app blast"}, "<disabled>1</disabled>"),
                ElementsAre(HasSubstr("validator"), HasSubstr("assimilator")));
}

TEST(UnservedApps, InDoubtTheyAreServed) {
    for (const char* validator :
         {"sample_bitwise_validator -d 3 --app blast", "script_validator -app blast", "../bin/my_validator --app=blast",
          "nice -n 5 ./Validate.py --app_name blast", "wcg_validator --app other --app blast", "all_validator",
          "blast_check --app blast", "validator --app 'blast"})
        EXPECT_THAT(told_of({validator, "a_assimilator"}), IsEmpty()) << validator;
}

TEST(Scripts, MustBeThereAndExecutable) {
    test::TempDir dir;
    const auto bin = dir.path() / "bin";
    const auto told = [&](const std::string& command) { return scripts_that_fail(commands_of({command}, ""), bin); };
    EXPECT_THAT(told("script_assimilator --app a --script \"take wu_id files\""),
                ElementsAre(testing::AllOf(HasSubstr("--script of 'script_assimilator'"), HasSubstr("there is no"),
                                           HasSubstr("chmod a+rx"))));
    const auto script = dir.write("bin/take", "#!/bin/sh\n");
    std::filesystem::permissions(script, std::filesystem::perms(0644));
    EXPECT_THAT(told("script_assimilator --app a --script 'take files'"),
                ElementsAre(HasSubstr("can't be executed: chmod a+rx " + script.string())));
    EXPECT_THAT(told("script_validator --app a --init_script=take --compare_script 'cmp files files2'"),
                ElementsAre(HasSubstr("--init_script"), HasSubstr("--compare_script")));
    std::filesystem::permissions(script, std::filesystem::perms(0755));
    EXPECT_THAT(told("script_assimilator --app a --script 'take files'"), IsEmpty());
    EXPECT_THAT(told("script_assimilator --app a --script '" + script.string() + " files'"), IsEmpty());
    EXPECT_THAT(told("their_assimilator --app a --script 'whatever'"), IsEmpty()) << "it may mean something else";
    EXPECT_THAT(told("script_assimilator --app a --script take/"), testing::SizeIs(1));
}

}  // namespace
}  // namespace sluice
