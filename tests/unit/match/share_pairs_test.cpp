// SPDX-License-Identifier: LGPL-3.0-or-later
// Shares beside each other feature, and beside each pair of them, all switched on together: within tau the others
// decide, beyond it nothing they say counts (seed 000; measured as "one bounded score").
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

constexpr double kLeast = 1.8e9;

struct Feature {
    const char* name;
    std::function<void(MatchWorld&)> world;
    std::function<void(a_job&)> favour;    ///< the job that the feature wants here
    std::function<void(a_job&)> slight{};  ///< the other one
};

// A feature a line.
// clang-format off
const Feature kFeatures[] = {
    {"size", [](MatchWorld& w) { w.params.size_classes = true; w.app(1).n_size_classes = 3; w.tables.size_quantiles[1] = {5e8, 2e9}; },
     [](a_job& j) { j.size_class(1); }, [](a_job& j) { j.size_class(2); }},
    {"locality", [](MatchWorld& w) { w.app(1).locality_scheduling = 1; w.host.files.merge(a_host().file("here", 300).get().files); },
     [](a_job& j) { j.input_file("here", 300); }},
    {"hr", [](MatchWorld& w) { w.app(1).homogeneous_redundancy = HrType::kFine; w.facts.at(1).hr_class = 277; },
     [](a_job& j) { j.hr_class(277); }},
    {"ltt", [](MatchWorld& w) { w.params.batch_accel = true; w.app(1).n_size_classes = 1; w.host.row.error_rate = 1; },
     [](a_job& j) { j.wu_priority(1); }},
    {"retry", [](MatchWorld& w) { HostAppVersion v; v.app_version_id = 11; v.consecutive_valid = 10; w.host.versions.push_back(v); },
     [](a_job& j) { j.need_reliable(); }},
    {"priority", [](MatchWorld&) {}, [](a_job& j) { j.priority(1000); }},
};
// clang-format on

/// Size classes and acceleration are two meanings of one column of an app.
bool exclude_each_other(const Feature& a, const Feature& b) {
    const auto is = [&](std::string_view one, std::string_view other) { return a.name == one && b.name == other; };
    return is("size", "ltt") || is("ltt", "size");
}

/// The batch of job 1, which both features want, is `hours` behind that of job 2. Which of them is sent?
Id sent_of_two(const Feature& a, const Feature& b, double hours) {
    MatchWorld w;
    w.params.compat_level = 1;
    w.tables.batch_shares[1] = {1, kLeast + hours * 3600, 1};
    w.tables.batch_shares[2] = {2, kLeast, 1};
    a_job favoured = a_job(1).batch(1), other = a_job(2).batch(2);
    for (const Feature* f : {&a, &b}) {
        f->world(w);
        f->favour(favoured);
        if (f->slight) f->slight(other);
    }
    w.pool.add(other);
    w.pool.add(favoured);
    w.want(ProcType::kCpu, 1, 0);  // one job
    const auto sent = w.sent();
    return sent.size() == 1 ? sent[0] : 0;
}

TEST(ShareAndTheOthers, DecideTogetherWithinTauAndSharesAloneBeyond) {
    int pairs = 0;
    for (const Feature& a : kFeatures) {
        for (const Feature& b : kFeatures) {
            if (&b < &a || exclude_each_other(a, b)) continue;
            ++pairs;
            EXPECT_EQ(sent_of_two(a, b, 0.5), 1) << a.name << " and " << b.name << ": half an hour is no reason";
            EXPECT_EQ(sent_of_two(a, b, 6.1), 2) << a.name << " and " << b.name << ": six hours are";
        }
    }
    EXPECT_EQ(pairs, 6 + 15 - 1);
}

}  // namespace
}  // namespace sluice::test
