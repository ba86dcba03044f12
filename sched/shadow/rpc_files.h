// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Requests and replies in folders: those that <debug_req_reply_dir> names, and the one of `sluice shadow --keep`. A
// request is X_sched_request.xml, its reply X_sched_reply.xml. The time of a request is that of its file.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sched/rpc/request.h"
#include "sched/shadow/their_reply.h"

namespace sluice {

struct RpcFile {
    std::filesystem::path request;
    double at = 0;  ///< UNIX s
    std::filesystem::path reply() const;
};

/// The requests of the folders, or files, by time: the newest kMostRpcFiles. `left_out`: how many older ones there are.
/// Throws Error: a folder that is not there.
std::vector<RpcFile> rpc_files(const std::vector<std::string>& folders, std::size_t& left_out);
inline constexpr std::size_t kMostRpcFiles = 200000;

struct RecordedRpc {
    double at = 0;
    std::string file;
    SchedulerRequest request;
    std::optional<TheirReply> reply;  ///< nullopt: there is none, or not a whole one
};
/// From what was asked and answered; nullopt: that is no request; `why` says it. `rpc` has the time and the name.
std::optional<RecordedRpc> parse_rpc(RecordedRpc rpc, std::string_view request, std::string_view reply,
                                     const RequestLimits& limits, std::string& why);
/// nullopt: it holds no request; `why` says it.
std::optional<RecordedRpc> read_rpc(const RpcFile& file, const RequestLimits& limits, std::string& why);

}  // namespace sluice
