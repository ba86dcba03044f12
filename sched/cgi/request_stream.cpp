// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/request_stream.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sluice/base/text.h"

namespace sluice {
std::optional<Body> RequestStream::next() {
    for (;;) {
        const std::size_t end = read_.find(kEnd, searched_);
        if (end != std::string::npos) return take(end + kEnd.size());
        searched_ = read_.size() - std::min(read_.size(), kEnd.size() - 1);
        if (read_.size() > limit_) {
            too_long_ = true;
            read_.erase(0, std::exchange(searched_, 0));
        }
        if (!read_more()) break;
    }
    const bool rest = too_long_ || !trim(read_).empty();
    if (ended_ || (any_ && !rest)) return std::nullopt;
    ended_ = true;
    return take(read_.size());
}

bool RequestStream::read_more() {
    char block[65536];
    const std::size_t n = gateway_.read(block, sizeof block, Deadline::max()).bytes;
    read_.append(block, n);
    return n > 0;
}

Body RequestStream::take(std::size_t n) {
    any_ = true;
    searched_ = 0;
    Body body;
    body.too_long = std::exchange(too_long_, false) || n > limit_;
    if (!body.too_long) body.text = read_.substr(0, n);
    read_.erase(0, n);
    return body;
}

}  // namespace sluice
