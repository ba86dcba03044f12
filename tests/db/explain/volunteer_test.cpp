// SPDX-License-Identifier: LGPL-3.0-or-later
// What a volunteer reads when there is no work: the binding constraint first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/db/explain/planted_world.h"

namespace sluice::test {
namespace {

TEST(Volunteer, ReadsTheBindingConstraintFirst) {
    Planted p;
    p.user().project_prefs =
        "<project_preferences><project_specific><app_id>1</app_id><app_id>2</app_id></project_specific></project_preferences>";
    App b = p.app();
    b.id = 2;
    b.name = "b";
    b.user_friendly_name = "Bee";
    p.rows.apps[2] = b;
    p.another_job().rsc_memory_bound = 1e11;
    p.another_job().rsc_memory_bound = 1e11;
    HostAppVersion v;
    v.host_id = v.app_version_id = 1;
    p.workunit().rsc_disk_bound = 1e13;
    p.config_aux =
        "<max_jobs_in_progress><project><total_limit><jobs>1</jobs></total_limit></project></max_jobs_in_progress>";
    p.in_progress(1);
    p.store();
    const std::vector<std::string> messages = p.world().send_raw(p.request_text()).messages();
    const auto at = [&](const std::string& part) {
        for (std::size_t i = 0; i < messages.size(); ++i)
            if (messages[i].find(part) != std::string::npos) return static_cast<int>(i);
        return -1;
    };
    EXPECT_EQ(at("No tasks sent"), 0) << testing::PrintToString(messages);
    EXPECT_EQ(at("limit on tasks in progress"), 1) << testing::PrintToString(messages);
    EXPECT_LT(at("limit on tasks in progress"), at("Bee")) << testing::PrintToString(messages);
}

}  // namespace
}  // namespace sluice::test
