// SPDX-License-Identifier: LGPL-3.0-or-later
// A project in maintenance, without feeder, without database, ended; a client's project suspended; new keys. Clients
// come back by themselves, and nothing is lost.
#include <fmt/core.h>

#include <filesystem>
#include <fstream>

#include "sluice/base/signing.h"
#include "tests/client/real/real_client.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class ServerStates : public RealClient {
  protected:
    /// The client has a finished job to report when the server is `broken`, and reports it when it is `repaired`.
    void reports_after(const std::function<void()>& broken, const std::string& told,
                       const std::function<void()>& repaired) {
        Volunteer v(world_, key_);
        v.attach();
        const Id job = running_job(v, name_);
        broken();
        world_.release(name_);
        EXPECT_TRUE(v.update_until([&] { return v.said(told); })) << v.log() << world_.web_log();
        repaired();
        EXPECT_TRUE(v.update_until([&] { return outcome(job) == 1; })) << v.log();
        EXPECT_TRUE(wait_until([&] { return v.count("<result>") == 0; }));
    }
    std::string seqno(Volunteer& v) { return world_.text(Sql("SELECT rpc_seqno FROM host WHERE id=") << v.host_id()); }
};

TEST_F(ServerStates, Maintenance) {
    const fs::path stop = world_.root() / "stop_sched";
    reports_after([&] { std::ofstream(stop) << ""; }, "Project is temporarily shut down for maintenance",
                  [&] { fs::remove(stop); });
}

TEST_F(ServerStates, NoFeeder) {
    reports_after([&] { world_.stop_feeder(); }, "Server error: feeder not running", [&] { world_.start_feeder(); });
}

TEST_F(ServerStates, NoDatabase) {
    reports_after([&] { world_.stop_database(); }, "Server can't open database", [&] { world_.start_database(); });
}

TEST_F(ServerStates, NoUploads) {
    const fs::path stop = world_.root() / "stop_upload";
    reports_after([&] { std::ofstream(stop) << ""; }, "File uploads are temporarily disabled",
                  [&] { fs::remove(stop); });
}

TEST_F(ServerStates, AnEndedProjectIsShownAsEnded) {
    Volunteer v(world_, key_);
    v.attach();
    world_.option("ended", "1");
    EXPECT_TRUE(v.update_until([&] { return v.project_status("ended") == "yes"; })) << v.log();
    world_.option("ended", "0");
    EXPECT_TRUE(v.update_until([&] { return v.project_status("ended") == "no"; })) << v.log();
}

TEST_F(ServerStates, ASuspendedProjectIsLeftAlone) {
    Volunteer v(world_, key_);
    v.attach();
    v.client().command({"--project", world_.url(), "suspend"});
    ASSERT_TRUE(wait_until([&] { return v.project_status("suspended via GUI") == "yes"; }));
    const Id job = world_.add_job("wait /");
    ASSERT_TRUE(v.one_more_rpc()) << "an update is a volunteer's own wish";
    EXPECT_EQ(server_state(job), 2) << "but it asks for no work";
    v.client().command({"--project", world_.url(), "resume"});
    EXPECT_TRUE(v.update_until([&] { return outcome(job) == 1; })) << v.log();
}

TEST_F(ServerStates, WhoAsksTooOftenIsToldToWait) {
    Volunteer v(world_, key_);
    v.attach();
    world_.option("min_sendwork_interval", "1000");
    const Id job = world_.add_job("wait /");
    EXPECT_TRUE(v.update_until([&] { return v.said("too recent"); })) << v.log();
    EXPECT_EQ(server_state(job), 2);
    EXPECT_TRUE(wait_until([&] { return v.said("Project requested delay of 1010 seconds"); })) << v.log();
    world_.option("min_sendwork_interval", "0");
    EXPECT_TRUE(v.update_until([&] { return outcome(job) == 1; })) << v.log();
}

TEST_F(ServerStates, ANewSigningKeyIsTakenOver) {
    Volunteer v(world_, key_);
    v.attach();
    const fs::path keys = world_.root() / "keys";
    const auto read = [](const fs::path& file) {
        std::ifstream in(file);
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    const std::string old_public = read(keys / "code_sign_public");
    ASSERT_THAT(v.client().state(), HasSubstr(old_public.substr(5, 64)));
    const KeyPairText fresh = generate_key_pair();
    const PrivateKey old_private = PrivateKey::read(keys / "code_sign_private");
    std::string stripped = fresh.public_key;
    while (!stripped.empty() && std::isspace(static_cast<unsigned char>(stripped.back()))) stripped.pop_back();
    fs::rename(keys / "code_sign_public", keys / "old_key_0");
    std::ofstream(keys / "signature_stripped_0") << old_private.sign(stripped);
    std::ofstream(keys / "signature_0") << old_private.sign(fresh.public_key);
    std::ofstream(keys / "code_sign_private", std::ios::trunc) << fresh.private_key;
    std::ofstream(keys / "code_sign_public") << fresh.public_key;
    // A version that is signed with the new key.
    const fs::path apps = world_.root() / "apps/steered";
    const fs::path first = fs::directory_iterator(apps / "1.0")->path(), second = apps / "2.0" / first.filename();
    fs::create_directories(second);
    fs::copy_file(first / "steered_1.0", second / "steered_2.0");
    world_.in_project({"update_versions", "--noconfirm"});
    const auto knows_200 = [&] { return world_.in_project({"show_shmem"}).find("200") != std::string::npos; };
    ASSERT_TRUE(wait_until(knows_200)) << world_.in_project({"show_shmem"});
    const Id job = world_.add_job("wait /");
    EXPECT_TRUE(v.update_until([&] { return server_state(job) == 5; })) << v.log();
    EXPECT_THAT(result(job, "outcome, app_version_num", 2), ElementsAre("1", "200")) << v.log();
    EXPECT_THAT(v.client().state(), HasSubstr(fresh.public_key.substr(5, 64)));
    EXPECT_EQ(v.complaints(), "");
}

}  // namespace
}  // namespace sluice::test
