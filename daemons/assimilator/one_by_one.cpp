// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/assimilator/one_by_one.h"

#include <algorithm>
#include <exception>

#include "sluice/base/text.h"

namespace sluice {

std::vector<std::string> OneByOneHandler::handle(std::span<const FinishedWorkunit> workunits) {
    constexpr double kSlice = 0.25;  // s; then what is done gets marked
    constexpr std::size_t kMost = 32, kMostText = 500;
    const double end = clock_.now() + kSlice;
    std::vector<std::string> said;
    do {
        try {
            const std::optional<std::string> why = store(workunits[said.size()]);
            if (!why) break;
            said.push_back(*why);
        } catch (const std::exception& e) {  // those before it are stored, and get marked
            said.push_back(in_one_line(e.what(), kMostText));
        }
    } while (said.size() < std::min(at_once_, workunits.size()) && clock_.now() < end && !stop_requested());
    at_once_ = clock_.now() < end ? std::min(2 * at_once_, kMost) : 1;
    return said;
}

}  // namespace sluice
