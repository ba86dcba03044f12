// SPDX-License-Identifier: LGPL-3.0-or-later
// rpc_load PORT [CLIENTS [SECONDS [WORK_SECONDS [PATH]]]]: the load driver by hand. Loopback only.
#include <cstdlib>
#include <iostream>

#include "tests/apache/load/load_driver.h"

int main(int argc, char** argv) {
    if (argc < 2) {
        std::cerr << "usage: rpc_load PORT [CLIENTS [SECONDS [WORK_SECONDS [PATH]]]]\n";
        return 2;
    }
    sluice::test::LoadPlan plan;
    plan.port = std::atoi(argv[1]);
    if (argc > 2) plan.clients = std::atoi(argv[2]);
    if (argc > 3) plan.seconds = std::atof(argv[3]);
    if (argc > 4) plan.work_seconds = std::atof(argv[4]);
    if (argc > 5) plan.path = argv[5];
    const auto result = sluice::test::run_load(plan);
    std::cout << to_text(result) << '\n';
    return result.broken + result.malformed + result.twice == 0 ? 0 : 1;
}
