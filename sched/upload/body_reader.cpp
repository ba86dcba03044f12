// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/upload/body_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::upload {
namespace {

constexpr std::size_t kBuffer = 64 * 1024;

}  // namespace

ReadBytes read_from(Gateway& gateway, std::function<bool()> stop) {
    // In slices: a signal that comes just before a read begins must not be noticed only when all patience is gone. What
    // FastCGI could not read in time, or from a web server that broke off, can't be read any more: it has no slices.
    static constexpr Milliseconds kSlice{500};
    return [&gateway, stop = std::move(stop)](char* buffer, std::size_t size, Milliseconds patience) -> std::size_t {
        const auto until = std::chrono::steady_clock::now() + patience;
        while (!stop()) {
            const auto now = std::chrono::steady_clock::now();
            const auto slice = gateway.persistent() ? until : std::min(until, now + kSlice);
            const ReadResult got = gateway.read(buffer, size, slice);
            if (got.bytes > 0 || !got.too_late || gateway.persistent() || now >= until) return got.bytes;
        }
        return 0;
    };
}

BodyReader::BodyReader(ReadBytes source, std::optional<std::uint64_t> length, Milliseconds patience)
    : source_(std::move(source)),
      patience_(patience),
      left_(length),
      room_(static_cast<std::size_t>(std::clamp<std::uint64_t>(length.value_or(kBuffer), 1, kBuffer))),
      buffer_(std::make_unique_for_overwrite<char[]>(room_)) {}

std::size_t BodyReader::read_source(char* buffer, std::size_t size, Milliseconds patience) {
    if (left_) size = static_cast<std::size_t>(std::min<std::uint64_t>(size, *left_));
    if (ended_ || size == 0) return 0;
    const std::size_t got = source_(buffer, size, patience);
    if (got == 0) ended_ = true;
    if (left_) *left_ -= got;
    return got;
}

bool BodyReader::fill(Milliseconds patience) {
    begin_ = 0;
    end_ = read_source(buffer_.get(), room_, patience);
    return end_ > 0;
}

std::optional<std::string> BodyReader::line(std::size_t max_bytes) {
    std::string out;
    bool any = false;
    while (begin_ < end_ || fill(patience_)) {
        any = true;
        const char* from = buffer_.get() + begin_;
        const auto* feed = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_));
        const std::size_t n = feed ? static_cast<std::size_t>(feed - from) : end_ - begin_;
        out.append(from, std::min(n, max_bytes - std::min(max_bytes, out.size())));
        begin_ += n + (feed ? 1 : 0);
        if (feed) break;
    }
    if (!any) return std::nullopt;
    if (!out.empty() && out.back() == '\r') out.pop_back();
    return out;
}

std::size_t BodyReader::read(char* buffer, std::size_t size) {
    std::size_t done = std::min(size, end_ - begin_);
    std::memcpy(buffer, buffer_.get() + begin_, done);
    begin_ += done;
    while (done < size) {
        const std::size_t got = read_source(buffer + done, size - done, patience_);
        if (got == 0) break;
        done += got;
    }
    return done;
}

std::string_view BodyReader::block(std::size_t size, std::string& room) {
    if (size <= end_ - begin_) {
        begin_ += size;
        return {buffer_.get() + begin_ - size, size};
    }
    room.resize(size);
    return {room.data(), read(room.data(), size)};
}

void BodyReader::drain(Milliseconds limit) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + limit;
    begin_ = end_ = 0;
    for (auto left = limit; left.count() > 0; left = std::chrono::ceil<Milliseconds>(until - Clock::now())) {
        if (!fill(left)) break;
    }
    begin_ = end_ = 0;
}

}  // namespace sluice::upload
