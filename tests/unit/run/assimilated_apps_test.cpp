// SPDX-License-Identifier: LGPL-3.0-or-later
// Which apps config.xml gives an assimilator: sluice_batch leaves their jobs to it.
#include "config/options/app_findings.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

bool may_have(const std::string& command, const std::string& more = "") {
    return may_have_assimilator("blast", parse_daemons_and_tasks("<boinc><config/><daemons><daemon><cmd>" + command +
                                                                     "</cmd>" + more + "</daemon></daemons></boinc>",
                                                                 "config.xml"));
}

TEST(AssimilatedApps, ByTheCommand) {
    for (const char* command :
         {"script_assimilator --app blast --script 'bin/copy result_id'", "sample_assimilator -d 3 -app blast",
          "../bin/blast_assim --app=blast", "nice -n 5 ./Assimilator.py --appname blast", "run_in_ops ./assimilate.php",
          "a_assimilator --app other --app blast"})
        EXPECT_TRUE(may_have(command)) << command;
    for (const char* command : {"script_assimilator --app blast2", "sample_assimilator -app=other",
                                "sample_bitwise_validator --app blast", "feeder -d 3", "assimilator -d 3 --app"})
        EXPECT_FALSE(may_have(command)) << command;
}

TEST(AssimilatedApps, InDoubtThereIsOne) {
    EXPECT_TRUE(may_have("sample_assimilator --app blast", "<disabled>1</disabled>")) << "it may come back";
    EXPECT_TRUE(may_have("sample_assimilator --app 'blast")) << "an open quote";
    EXPECT_FALSE(may_have_assimilator("blast", {}));
    EXPECT_TRUE(may_have_assimilator(
        "blast", parse_daemons_and_tasks(
                     "<boinc><config/><tasks><task><cmd>blast_assimilator --app blast --one_pass</cmd><period>1 "
                     "hour</period></task></tasks></boinc>",
                     "config.xml")));
}

TEST(AssimilatedApps, DisabledOnesServeNobody) {
    const auto off = [](const std::string& daemons) {
        return assimilator_is_off(
            "blast", parse_daemons_and_tasks("<boinc><config/><daemons>" + daemons +
                                                 "</daemons><tasks><task><cmd>other_assimilator --app "
                                                 "other</cmd><period>1 hour</period></task></tasks></boinc>",
                                             "config.xml"));
    };
    const std::string disabled = "<daemon><cmd>assimilator --app blast</cmd><disabled>1</disabled></daemon>";
    EXPECT_TRUE(off(disabled));
    EXPECT_TRUE(off(disabled + disabled + "<daemon><cmd>assimilator --app other</cmd></daemon>"));
    EXPECT_FALSE(off(disabled + "<daemon><cmd>assimilator --app blast</cmd></daemon>"));
    EXPECT_FALSE(off(disabled + "<daemon><cmd>assimilator</cmd></daemon>")) << "serves all apps";
    EXPECT_FALSE(off("")) << "it has none";
}

}  // namespace
}  // namespace sluice
