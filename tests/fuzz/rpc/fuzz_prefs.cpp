// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as preferences (working, master, account, venue, project preferences; separated by a NUL byte).
#include <cmath>
#include <cstdint>

#include "sched/rpc/key_change.h"
#include "sched/rpc/prefs.h"
#include "tests/fuzz/rpc/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sluice;
    std::string_view parts[5];
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    for (std::string_view& part : parts) {
        part = rest.substr(0, rest.find('\0'));
        rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    }
    constexpr double kNow = 1795227000;
    const PrefsDecision decision =
        decide_prefs({parts[0], parts[1], parts[2], parts[3], size % 2 == 0, size % 3 == 0}, kNow);
    const GlobalPrefs& p = decision.effective;
    REQUIRE(p.mod_time >= 0 && p.mod_time <= kNow);
    for (const double x : {p.disk_max_used_gb, p.disk_max_used_pct, p.disk_min_free_gb, p.work_buf_min_days,
                           p.ram_max_used_busy_frac, p.ram_max_used_idle_frac, p.max_ncpus_pct})
        REQUIRE(std::isfinite(x));
    REQUIRE(!decision.store_in_account || !parts[1].empty());
    REQUIRE(!decision.send_to_client || !parts[2].empty());
    const ProjectPrefs project = parse_project_prefs(parts[4], parts[3]);
    REQUIRE(project.max_jobs >= 0 && project.max_cpus >= 0 && project.selected_apps.size() <= 1000);
    REQUIRE(project.text.size() <= parts[4].size());
    const KeyAnswer answer =
        answer_key(parts[0], parts[1], {{std::string(parts[2]), std::string(parts[3]), ""}}, 61200);
    REQUIRE(answer.may_send_work || answer.code_sign_key.empty());
    return 0;
}
