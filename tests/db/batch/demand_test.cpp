// SPDX-License-Identifier: LGPL-3.0-or-later
// A multi-size app whose demand jumps tenfold for one class (seed 003: "this might not be able to handle a large spike
// in demand").
#include <algorithm>
#include <map>

#include "sluice/shmem/scheduler_array.h"
#include "tests/db/batch/batch_fixture.h"
#include "tests/support/segment_files.h"

namespace sluice::test {
namespace {

class Demand : public BatchFixture {
  protected:
    static constexpr std::int64_t kKey = 0x5eed0d3;
    Demand() { app(1, 3); }
    ~Demand() override { remove_segment_files(name()); }
    JobArrayName name() const { return job_array_name(kKey, std::filesystem::canonical(project.path())); }

    /// Hosts take up to `wanted` jobs of each class out of the array; returns what they got.
    std::map<int, int> take(std::map<int, int> wanted) {
        std::map<int, int> got;
        const auto array = SchedulerArray::attach(name());
        std::vector<Id> sent;
        for (std::uint32_t i = 0; i < array->size(); ++i) {
            JobSummary job;
            SlotRef ref;
            if (array->read(i, job, ref) != SlotState::kPresent) continue;
            ++in_array_[job.size_class];
            if (wanted[job.size_class] == 0) continue;
            auto claim = array->claim(ref);
            if (!claim) continue;
            claim->consume();
            --wanted[job.size_class];
            ++got[job.size_class];
            sent.push_back(job.result_id);
        }
        if (sent.empty()) return got;
        Sql sql("UPDATE result SET server_state=4 WHERE id IN (");
        db.execute(sql.ids(sent) << ")");
        return got;
    }
    std::map<int, int> in_array_;
};

TEST_F(Demand, TenfoldDemandOfOneClassDriesNoneUp) {
    project.write(
        "config.xml",
        "<boinc><config>" + PrivateMariaDb::shared().config_elements("batches") + "<shmem_key>" + std::to_string(kKey) +
            "</shmem_key><shmem_work_items>300</shmem_work_items><size_classes>1</size_classes></config></boinc>");
    for (int i = 0; i < 6000; ++i) {  // a large buffer of unsent jobs, class 1 the most
        Workunit& wu = job(0);
        wu.xml_doc = "<workunit>\n</workunit>\n";
        wu.size_class = i % 5 < 3 ? 1 : i % 5 == 3 ? 0 : 2;
        Result& r = instance(wu, ServerState::kInactive);
        r.size_class = wu.size_class;
        r.xml_doc_in = "<result>\n</result>\n";
    }
    store();
    const std::vector<std::string> regulate{"size_regulator", "--app_name", "app1",      "--lo", "40",
                                            "--hi",           "90",         "--one_pass"};
    std::map<int, int> dry;  // polls in a row in which hosts did not get what they wanted
    for (int poll = 0; poll < 30; ++poll) {
        run_ok(regulate);
        run_ok({"feeder", "--one_pass"});
        const bool spike = poll >= 10 && poll < 20;
        std::map<int, int> wanted{{0, 5}, {1, spike ? 50 : 5}, {2, 5}};
        in_array_.clear();
        const auto got = take(wanted);
        for (int c = 0; c < 3; ++c) {
            dry[c] = got.contains(c) && got.at(c) == wanted[c] ? 0 : dry[c] + 1;
            EXPECT_LE(dry[c], 2) << "class " << c << ", poll " << poll;
            EXPECT_GT(in_array_[c], 0) << "class " << c << " is not in the array, poll " << poll;
        }
        if (spike) {
            EXPECT_EQ(dry[0] + dry[2], 0) << "the other classes do not suffer";
        }
    }
    EXPECT_LE(
        number(Sql("SELECT MAX(n) FROM (SELECT COUNT(*) n FROM result WHERE server_state=2 GROUP BY size_class) c")),
        90);
}

}  // namespace
}  // namespace sluice::test
