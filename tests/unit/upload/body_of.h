// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "sched/upload/body_reader.h"

namespace sluice::test {

/// A body that comes in pieces of at most `piece` bytes.
inline upload::BodyReader body_of(std::string text, std::size_t piece = 1 << 20,
                                  std::optional<std::uint64_t> length = std::nullopt) {
    const auto all = std::make_shared<const std::string>(std::move(text));
    return upload::BodyReader(
        [all, piece, at = std::size_t{0}](char* buffer, std::size_t size, upload::Milliseconds) mutable {
            const std::size_t n = std::min({size, piece, all->size() - at});
            std::memcpy(buffer, all->data() + at, n);
            at += n;
            return n;
        },
        length);
}

}  // namespace sluice::test
