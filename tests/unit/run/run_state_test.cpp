// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/run_state.h"

#include <gtest/gtest.h>

#include "sluice/base/error.h"

namespace sluice {
namespace {

TEST(RunState, RoundTrips) {
    RunState state;
    state.enabled = true;
    state.last_run = {{"update_stats --a \"b & c\" <d>", 1700000000.25}, {"db_dump", 0}};
    const RunState again = parse_run_state(run_state_text(state), "f");
    EXPECT_TRUE(again.enabled);
    EXPECT_EQ(again.last_run, state.last_run);
}

TEST(RunState, ReadsWhatUpstreamsScriptWrites) {
    const RunState state = parse_run_state(R"(<?xml version="1.0" ?>
<boinc>
  <tasks>
    <task>
      <cmd>
        run_in_ops ./notify.php
      </cmd>
      <last_run>
        1718000000.123
      </last_run>
    </task>
  </tasks>
  <enabled>
    1
  </enabled>
</boinc>
)",
                                           "f");
    EXPECT_TRUE(state.enabled);
    EXPECT_DOUBLE_EQ(state.last_run.at("run_in_ops ./notify.php"), 1718000000.123);
    EXPECT_FALSE(parse_run_state("<boinc><enabled>0</enabled></boinc>", "f").enabled);
    EXPECT_TRUE(parse_run_state("<boinc><enabled>True</enabled></boinc>", "f").enabled);
}

TEST(RunState, NothingMeansNeverStarted) {
    EXPECT_FALSE(parse_run_state("", "f").enabled);
    EXPECT_FALSE(read_run_state("/nonexistent/run_state_x.xml").enabled);
}

TEST(RunState, BrokenFilesAreErrors) {
    for (const char* text : {"garbage", "<boinc><enabled>1", "<boinc><enabled>maybe</enabled></boinc>",
                             "<boinc><tasks><task><cmd>x</cmd><last_run>then</last_run></task></tasks></boinc>"}) {
        EXPECT_THROW(parse_run_state(text, "run_state_h.xml"), ConfigError) << text;
    }
}

}  // namespace
}  // namespace sluice
