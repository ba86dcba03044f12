// SPDX-License-Identifier: LGPL-3.0-or-later
// Preferences: what a volunteer changes on the web site reaches the client, and what a client brings from elsewhere
// reaches the database; the newer one wins.
#include <fmt/core.h>

#include <ctime>
#include <fstream>

#include "tests/client/real/real_client.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Prefs : public RealClient {
  protected:
    std::string preferences(std::int64_t changed, double max_ncpus_pct) const {
        return fmt::format(
            "<global_preferences>\n<source_project>{}</source_project>\n<mod_time>{}</mod_time>\n<max_ncpus_pct>{}</max_ncpus_pct>\n"
            "</global_preferences>\n",
            world_.url(), changed, max_ncpus_pct);
    }
    void change_on_web(const std::string& text) {
        world_.db().execute(Sql("UPDATE user SET global_prefs=")
                            << SqlBlob{text} << " WHERE id=" << world_.user_id(name_));
    }
    std::string in_database() {
        return world_.text(Sql("SELECT global_prefs FROM user WHERE id=") << world_.user_id(name_));
    }
    static std::string in_client(Volunteer& v, const char* file = "global_prefs.xml") {
        const RightsToAllFiles rights;
        std::ifstream in(v.client().folder() / file);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    static void give_client(Volunteer& v, const std::string& text) {
        const RightsToAllFiles rights;
        std::ofstream(v.client().folder() / "global_prefs.xml") << text;
    }
    static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
    void set_project_prefs(const std::string& text) {
        world_.db().execute(Sql("UPDATE user SET project_prefs=")
                            << SqlBlob{text} << " WHERE id=" << world_.user_id(name_));
    }

    const std::int64_t now_ = std::time(nullptr);
};

TEST_F(Prefs, WhatIsChangedOnWebReachesClient) {
    change_on_web(preferences(now_ - 1000, 51));
    Volunteer v(world_, key_);
    v.attach();
    EXPECT_TRUE(v.update_until([&] { return has(in_client(v), "<max_ncpus_pct>51</max_ncpus_pct>"); }))
        << in_client(v) << v.log();
    change_on_web(preferences(now_ - 500, 52));
    EXPECT_TRUE(v.update_until([&] { return has(in_client(v), "<max_ncpus_pct>52</max_ncpus_pct>"); })) << in_client(v);
    EXPECT_EQ(in_database(), preferences(now_ - 500, 52)) << "the client sent back what it had, which changed nothing";
    EXPECT_EQ(v.complaints(), "");
}

TEST_F(Prefs, WhatTheClientHasNewerReachesTheDatabase) {
    change_on_web(preferences(now_ - 1000, 61));
    Volunteer v(world_, key_);
    v.attach();
    v.client().stop();
    // As after the volunteer changed them on the site of another project with the same address.
    give_client(v, preferences(now_ - 500, 62));
    v.start();
    EXPECT_TRUE(v.update_until([&] { return has(in_database(), "<max_ncpus_pct>62"); })) << in_database() << v.log();
    EXPECT_THAT(in_database(), HasSubstr(fmt::format("<mod_time>{}", now_ - 500)));
    EXPECT_THAT(in_client(v), HasSubstr("<max_ncpus_pct>62"));
}

TEST_F(Prefs, WhatTheClientHasOlderDoesNot) {
    change_on_web(preferences(now_ - 500, 71));
    Volunteer v(world_, key_);
    v.attach();
    v.client().stop();
    give_client(v, preferences(now_ - 1000, 72));
    v.start();
    EXPECT_TRUE(v.update_until([&] { return has(in_client(v), "<max_ncpus_pct>71"); })) << in_client(v) << v.log();
    EXPECT_EQ(in_database(), preferences(now_ - 500, 71));
}

TEST_F(Prefs, AnotherAccountsPreferencesStayThere) {
    change_on_web(preferences(now_ - 1000, 81));
    Volunteer v(world_, key_);
    v.attach();
    v.client().stop();
    std::string elsewhere = preferences(now_ - 500, 82);
    elsewhere.replace(elsewhere.find(world_.url()), world_.url().size(), "http://other.example.org/");
    give_client(v, elsewhere);
    v.start();
    ASSERT_TRUE(v.one_more_rpc());
    ASSERT_TRUE(v.one_more_rpc());
    EXPECT_EQ(in_database(), preferences(now_ - 1000, 81));
}

TEST_F(Prefs, VenueAndProjectPreferencesReachTheClient) {
    const Id user = world_.user_id(name_);
    world_.db().execute(Sql("UPDATE user SET venue='home' WHERE id=") << user);
    set_project_prefs(
        "<project_preferences>\n<resource_share>55</resource_share>\n<project_specific>\n<app_id>987</app_id>\n</project_specific>\n"
        "<venue name=\"school\">\n<resource_share>66</resource_share>\n</venue>\n</project_preferences>\n");
    const Id job = world_.add_job("wait /");
    Volunteer v(world_, key_);
    v.attach();
    EXPECT_TRUE(wait_until([&] { return v.in_state("host_venue") == "home"; })) << "a new host has its owner's venue";
    ASSERT_TRUE(v.update_until([&] { return has(v.log(), "No tasks sent"); })) << v.log();
    EXPECT_EQ(server_state(job), 2) << "the volunteer chose another app for this venue";
    EXPECT_EQ(v.project_status("resource share"), "55.000000");
    world_.db().execute(Sql("UPDATE host SET venue='school' WHERE id=") << v.host_id());
    ASSERT_TRUE(v.update_until([&] { return outcome(job) == 1; })) << v.log();
    EXPECT_EQ(v.in_state("host_venue"), "school");
    EXPECT_EQ(v.project_status("resource share"), "66.000000");
    EXPECT_EQ(v.complaints(), "");
}

}  // namespace
}  // namespace sluice::test
