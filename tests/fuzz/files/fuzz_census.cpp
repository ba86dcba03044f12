// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as what the feeder reads of size_census and census: numbers that can be used, or one line that says what to
// do.
#include <cmath>
#include <cstdint>

#include "feeder/census_reader.h"
#include "feeder/starvation.h"
#include "sluice/base/error.h"
#include "sluice/model/hr_info.h"
#include "tests/fuzz/files/one_line.h"
#include "tests/fuzz/rpc/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sluice;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const int classes : {2, 3, 10}) {
        const Quantiles q = parse_quantiles(text, classes);
        if (!q.problem.empty()) {
            fuzz::require_one_line(q.problem, {"is not a speed", "do not ascend", "lines"});
            continue;
        }
        REQUIRE(q.values.size() == static_cast<std::size_t>(classes) - 1);
        double last = 0;
        for (const double v : q.values) {
            REQUIRE(std::isfinite(v) && v >= last);
            last = v;
        }
    }
    try {
        const HrInfo info = parse_hr_info(text, "hr_info.txt");
        // What was read is read again, and every class has a slot.
        const HrInfo again = parse_hr_info(hr_info_text(info), "hr_info.txt");
        HrQuota quota(again, {0, 1000, 1000});
        for (int type = 1; type < kHrTypes; ++type)
            for (int hr_class = 0; hr_class < kHrClasses; ++hr_class) REQUIRE(quota.limit(type, hr_class) >= 1);
    } catch (const ConfigError& error) {
        fuzz::require_one_line(error.what(), {"run census"});
        REQUIRE(std::string_view(error.what()).starts_with("hr_info.txt, line "));
    }
    return 0;
}
