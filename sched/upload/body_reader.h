// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The body of an upload request: lines first, raw bytes behind them. Whatever a client sends or does not send, reading
// ends: at the end of the body, when nothing comes for a while, or when the program is to stop.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sched/web/gateway.h"

namespace sluice::upload {

using Milliseconds = std::chrono::milliseconds;

/// Where bytes come from. Returns how many were put into `buffer` (at most `size`, more than 0), or 0 at the end, or
/// when nothing came for `patience`.
using ReadBytes = std::function<std::size_t(char* buffer, std::size_t size, Milliseconds patience)>;

/// As the web server hands it over. Under CGI ends too, within half a second, when `stop` returns true. `gateway`
/// outlives it.
ReadBytes read_from(Gateway& gateway, std::function<bool()> stop);

class BodyReader {
  public:
    /// A client that sends nothing for so long is gone; web servers give up earlier.
    static constexpr Milliseconds kPatience{300000};
    /// `length`: CONTENT_LENGTH; nothing is read beyond it (a web server may keep the pipe open). nullopt: to the end.
    BodyReader(ReadBytes source, std::optional<std::uint64_t> length, Milliseconds patience = kPatience);

    /// The next line without its end; nullopt at the end of the body. Of a line longer than `max_bytes` the beginning
    /// is returned and the rest skipped.
    std::optional<std::string> line(std::size_t max_bytes);
    /// Up to `size` bytes of what follows; less only at the end of the body.
    std::size_t read(char* buffer, std::size_t size);
    /// The same, where it was read to if it has come already, else in `room`. Valid until the next call.
    std::string_view block(std::size_t size, std::string& room);
    /// Reads and drops the rest, for at most `limit`: a web server that can't deliver the body may not deliver the
    /// reply either.
    void drain(Milliseconds limit);

  private:
    bool fill(Milliseconds patience);
    std::size_t read_source(char* buffer, std::size_t size, Milliseconds patience);

    ReadBytes source_;
    Milliseconds patience_;
    std::optional<std::uint64_t> left_;  ///< bytes of the body not yet taken from the source
    std::size_t room_;
    std::unique_ptr<char[]> buffer_;  ///< of `room_` bytes
    std::size_t begin_ = 0, end_ = 0;
    bool ended_ = false;
};

}  // namespace sluice::upload
