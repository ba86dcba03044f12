// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// FastCGI as the program's side sees it, bytes in and bytes out: no sockets here. Requests come one at a time on a
// connection (web servers do not interleave them).
#include <cstdint>
#include <string>
#include <string_view>

#include "sched/cgi/fastcgi_types.h"

namespace sluice::fastcgi {

/// What a reader of records gets. Long contents come in several pieces; a record without any has one empty piece.
class RecordSink {
  public:
    virtual ~RecordSink() = default;
    /// False: the connection makes no sense any more.
    virtual bool on_content(RecordType type, std::uint16_t id, std::string_view piece) = 0;
};

/// Cuts a stream into records, however it is cut into reads. Holds nothing but one header.
class RecordReader {
  public:
    /// False: not FastCGI 1, or the sink had enough.
    bool feed(std::string_view bytes, RecordSink& sink);

  private:
    std::string header_;
    std::size_t content_ = 0, padding_ = 0;  ///< bytes of them still to come
};

/// One variable of a parameter block; empty if it is not there or the block is cut off.
std::string variable(std::string_view params, std::string_view name);
/// Name and value as a parameter block has them.
std::string pair(std::string_view name, std::string_view value);

std::string record(RecordType type, std::uint16_t id, std::string_view content);  ///< content: at most 65535 bytes
/// The answer to request `id`: all of `text`, its end, and the end of the request.
std::string answer(std::uint16_t id, std::string_view text);

}  // namespace sluice::fastcgi
