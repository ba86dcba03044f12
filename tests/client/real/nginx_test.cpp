// SPDX-License-Identifier: LGPL-3.0-or-later
// A real client at a project behind nginx: a job is fetched, its output of 100 MB is uploaded, and the job is reported.
#include <filesystem>
#include <fstream>
#include <string>

#include "sluice/base/files.h"
#include "tests/client/real/real_client.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;

using ClientBehindNginx = RealClient;

TEST_F(ClientBehindNginx, JobWithHundredMegabytesOfOutput) {
    const auto output_template = world_.root() / "templates/steered_out";
    std::string text = read_file(output_template).value();
    const std::string small = "<max_nbytes>1000000<";
    text.replace(text.find(small), small.size(), "<max_nbytes>200000000<");
    std::ofstream(output_template) << text;
    const Id job = world_.add_job("add 100", {"--rsc_disk_bound", "1e9"});
    Volunteer v(world_, key_);
    v.attach();
    ASSERT_TRUE(v.update_until([&] { return server_state(job) == 5; }, 300))
        << v.log() << world_.scheduler_log() << world_.web_log();
    EXPECT_THAT(result(job, "outcome, exit_status", 2), ElementsAre("1", "0"));
    const std::string document = result(job, "xml_doc_in", 1).front();
    const auto begin = document.find("<name>") + 6;
    const std::string file = document.substr(begin, document.find("</name>") - begin);
    const RightsToAllFiles rights;
    EXPECT_EQ(std::filesystem::file_size(fanout_path(world_.root() / "upload", file, 1024)),
              std::string("what the job gets\n").size() + (100u << 20));
    EXPECT_EQ(v.complaints(), "");
}

}  // namespace
}  // namespace sluice::test
