// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/bench/flow/refill_times.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>

namespace sluice::test {
namespace {

constexpr double kNever = 60;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

std::vector<double> refill_times(Database& db, SchedulerArray& array, int turns, std::uint32_t jobs) {
    std::mt19937 random(1);
    std::vector<double> times;
    for (int turn = 0; turn < turns; ++turn) {
        std::vector<Claim> claims;
        std::vector<Id> sent;
        const std::uint32_t first = static_cast<std::uint32_t>(random()) % array.size();
        for (std::uint32_t i = 0; i < array.size() && claims.size() < jobs; ++i) {
            JobSummary job;
            SlotRef ref;
            if (array.read((first + i) % array.size(), job, ref) != SlotState::kPresent) continue;
            if (auto claim = array.claim(ref)) {
                claims.push_back(std::move(*claim));
                sent.push_back(job.result_id);
            }
        }
        Sql sql("UPDATE result SET server_state=4 WHERE id IN (");
        db.execute(sql.ids(sent) << ")");
        const double begin = now_s();
        for (Claim& claim : claims) claim.consume();
        const auto full = [&] {
            for (std::uint32_t i = 0; i < array.size(); ++i)
                if (array.state(i) == SlotState::kEmpty) return false;
            return true;
        };
        while (!full() && now_s() - begin < kNever) ::usleep(100);
        times.push_back(std::min(now_s() - begin, kNever));
        ::usleep(static_cast<useconds_t>(random() % 100000));  // at any moment of what the feeder does besides
    }
    std::sort(times.begin(), times.end());
    return times;
}

std::string text_of_times(const std::vector<double>& t) {
    if (t.empty()) return "none";
    return fmt::format("median {:.1f} ms, p99 {:.1f} ms, most {:.1f} ms", 1000 * t[t.size() / 2],
                       1000 * t[std::min(t.size() * 99 / 100, t.size() - 1)], 1000 * t.back());
}

}  // namespace sluice::test
