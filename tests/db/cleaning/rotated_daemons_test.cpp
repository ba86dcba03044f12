// SPDX-License-Identifier: LGPL-3.0-or-later
// Daemons that bin/start has started write on while rotate_logs changes their logs.
#include <signal.h>
#include <zlib.h>

#include <fstream>

#include "config/run/process_lock.h"
#include "sluice/base/project.h"
#include "tests/db/cleaning/cleaning_world.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

class RotatedDaemons : public CleaningWorld {
  protected:
    RotatedDaemons() {
        const std::string config = read_file(project_ / "config.xml").value();
        const auto end = config.find("</config>");
        project_.write("config.xml", config.substr(0, end) + "<bin_dir>" + SLUICE_BIN +
                                         "</bin_dir></config><daemons><daemon><cmd>file_deleter -d 3 --sleep_interval "
                                         "1</cmd></daemon></daemons></boinc>");
    }
    ~RotatedDaemons() override {
        for (const auto& [place, pid] : guard_holders(project_ / ("run_lock_" + short_host_name())))
            ::kill(pid, SIGKILL);
    }
    fs::path logs() const { return project_ / ("log_" + short_host_name()); }
    std::string log() const { return read_file(logs() / "file_deleter.log").value_or(""); }
    /// A result whose output file is to be deleted.
    void add(Id id) {
        rows_.results.clear(), rows_.workunits.clear();
        workunit(id, FileDeleteState::kInit);
        result(id, id, FileDeleteState::kReady);
        store();
        rows_.apps.clear();  // they are there now
    }
    static std::string unlinked(Id id) { return "out_" + std::to_string(id) + "\n"; }
    std::vector<fs::path> old_logs() const {
        std::vector<fs::path> files;
        for (const auto& entry : fs::directory_iterator(logs()))
            if (entry.path().filename().string().starts_with("file_deleter.log.")) files.push_back(entry.path());
        return files;
    }
};

TEST_F(RotatedDaemons, WriteOnInTheNewLog) {
    ASSERT_EQ(run_program({"start"}).status, 0);
    add(1);
    ASSERT_TRUE(eventually([&] { return log().find(unlinked(1)) != std::string::npos; })) << log();
    std::ofstream(logs() / "file_deleter.log", std::ios::app) << std::string(2000, '.') << "\n";
    const RunResult first = run_program({"rotate_logs", "--max_mb", "0.001"});
    EXPECT_EQ(first.status, 0) << first.err;
    ASSERT_EQ(old_logs().size(), 1u) << first.err;
    EXPECT_NE(old_logs()[0].extension(), ".gz") << "the daemon has it open";
    // Its lines go into the old file until it looks, a second later at most.
    for (Id id = 2; id < 30 && log().empty(); ++id) {
        add(id);
        ASSERT_TRUE(eventually([&] {
            return log().find(unlinked(id)) != std::string::npos ||
                   read_file(old_logs()[0]).value_or("").find(unlinked(id)) != std::string::npos;
        })) << id;
    }
    EXPECT_THAT(log(), HasSubstr("out_"));
    EXPECT_EQ(run_program({"rotate_logs"}).status, 0);
    ASSERT_EQ(old_logs().size(), 1u);
    EXPECT_EQ(old_logs()[0].extension(), ".gz") << "it has gone over to the new one";
    add(40);
    EXPECT_TRUE(eventually([&] { return log().find(unlinked(40)) != std::string::npos; })) << log();
    EXPECT_EQ(run_program({"stop"}).status, 0);
    EXPECT_THAT(log(), HasSubstr("SIGHUP")) << "its last words, too";
}

}  // namespace
}  // namespace sluice::test
