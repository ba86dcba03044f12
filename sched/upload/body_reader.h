#pragma once
// The body of an upload request: lines first, raw bytes behind them. Whatever a client sends or does not send, reading
// ends: at the end of the body, when nothing comes for a while, or when the program is told to stop.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::upload {

/// Where bytes come from. Returns how many were put into `buffer` (at most `size`, more than 0), or 0 at the end.
using ReadBytes = std::function<std::size_t(char* buffer, std::size_t size)>;

/// From a file descriptor. Ends too when nothing comes for `idle`, and soon after `stop` returns true.
ReadBytes read_from_fd(int fd, std::chrono::milliseconds idle, std::function<bool()> stop);

class BodyReader {
  public:
    /// `length`: CONTENT_LENGTH; nothing is read beyond it (a web server may keep the pipe open). nullopt: to the end.
    BodyReader(ReadBytes source, std::optional<std::uint64_t> length);

    /// The next line without its end; nullopt at the end of the body. Of a line longer than `max_bytes` the beginning
    /// is returned and the rest skipped.
    std::optional<std::string> line(std::size_t max_bytes);
    /// Up to `size` bytes of what follows; less only at the end of the body.
    std::size_t read(char* buffer, std::size_t size);
    /// Reads and drops the rest, for at most `limit`: a web server that can't deliver the body may not deliver the
    /// reply either.
    void drain(std::chrono::milliseconds limit);

  private:
    bool fill();
    std::size_t read_source(char* buffer, std::size_t size);

    ReadBytes source_;
    std::optional<std::uint64_t> left_;  ///< bytes of the body not yet taken from the source
    std::vector<char> buffer_;
    std::size_t begin_ = 0, end_ = 0;
    bool ended_ = false;
};

}  // namespace sluice::upload
