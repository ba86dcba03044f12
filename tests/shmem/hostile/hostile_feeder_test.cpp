// SPDX-License-Identifier: LGPL-3.0-or-later
// The feeder's turns, all of them, on an array whose claims somebody overwrites meanwhile.
#include <sys/wait.h>

#include "tests/shmem/feeder/feeder_turns.h"
#include "tests/shmem/hostile/attacker.h"

namespace sluice::test {
namespace {

TEST_F(FeederTurns, GoOnWhileTheClaimsAreOverwritten) {
    config_.shmem_work_items = 50;
    options_.rotate_after = 5;
    options_.starvation_after = 5;
    options_.purge_stale = 8;
    for (Id id = 1; id <= 400; ++id) job(id, id % 7, 1 + id % 3);
    start();
    const std::filesystem::path claims = content_file(name()).string() + ".claims";
    const pid_t attacker = ::fork();
    if (attacker == 0) {
        Attacker a(claims, 3);
        for (std::size_t word = 0; word < a.words(); ++word) a.write(word);
        for (int i = 0; i < 200000; ++i) a.write_anywhere();
        ::_exit(0);
    }
    int status = 0;
    while (::waitpid(attacker, &status, WNOHANG) == 0) run(1);
    EXPECT_EQ(status, 0);
    run(30);
    // All are unsent still: whatever was believed to be taken is there again, as far as there is room.
    const auto there = jobs();
    EXPECT_EQ(there.size(), 50u);
    EXPECT_EQ(std::set<Id>(there.begin(), there.end()).size(), 50u) << "none twice";
    EXPECT_EQ(send(10).size(), 10u);
}

}  // namespace
}  // namespace sluice::test
