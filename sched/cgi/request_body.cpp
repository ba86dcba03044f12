// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/request_body.h"

#include <algorithm>

namespace sluice {

RequestBody drain(Gateway& gateway, const BodyRules& rules) {
    RequestBody body;
    std::size_t limit = std::min(rules.limit, kBeginning), total = 0;
    bool asked = false;
    const auto start = Pace::Clock::now();
    char block[16384];
    for (;;) {
        const auto until = rules.pace.until(start, total);
        const ReadResult got = gateway.read(block, sizeof block, until);
        body.too_slow = got.too_late || Pace::Clock::now() > until;
        if (got.bytes == 0 || body.too_slow) return body;
        total += got.bytes;
        if (total > limit && !asked) {
            asked = true;
            if (rules.limit > limit && rules.known && rules.known(body.text)) limit = rules.limit;
        }
        if (total <= limit) {
            body.text.append(block, got.bytes);
        } else if (!body.too_long) {
            body.too_long = true;
            if (body.text.size() > kBeginning) body.text = body.text.substr(0, kBeginning);
        }
    }
}

}  // namespace sluice
