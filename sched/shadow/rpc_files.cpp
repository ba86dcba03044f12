// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/shadow/rpc_files.h"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/regular_file.h"

namespace sluice {
namespace {

constexpr std::string_view kRequestEnd = "sched_request.xml", kReplyEnd = "sched_reply.xml";

/// 0: the file is gone.
double time_of_file(const fs::path& file) {
    std::error_code error;
    const auto written = fs::last_write_time(file, error);
    if (error) return 0;
    return std::chrono::duration<double>(std::chrono::file_clock::to_sys(written).time_since_epoch()).count();
}

void add_file(const fs::path& file, std::vector<RpcFile>& files) {
    if (const double at = time_of_file(file); at > 0) files.push_back({file, at});
}

}  // namespace

fs::path RpcFile::reply() const {
    const std::string name = request.filename().string();
    if (!name.ends_with(kRequestEnd)) return {};
    return request.parent_path() / (name.substr(0, name.size() - kRequestEnd.size()) + std::string(kReplyEnd));
}

std::vector<RpcFile> rpc_files(const std::vector<std::string>& folders, std::size_t& left_out) {
    std::vector<RpcFile> files;
    for (const std::string& given : folders) {
        std::error_code error;
        if (!fs::is_directory(given, error)) {
            if (!fs::exists(given, error)) throw Error(given + " does not exist");
            add_file(given, files);
            continue;
        }
        for (const auto& entry : fs::directory_iterator(given))
            if (entry.path().filename().string().ends_with(kRequestEnd)) add_file(entry.path(), files);
    }
    std::sort(files.begin(), files.end(),
              [](const RpcFile& a, const RpcFile& b) { return std::tie(a.at, a.request) < std::tie(b.at, b.request); });
    left_out = files.size() - std::min(files.size(), kMostRpcFiles);
    files.erase(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(left_out));
    return files;
}

std::optional<RecordedRpc> parse_rpc(RecordedRpc rpc, std::string_view request, std::string_view reply,
                                     const RequestLimits& limits, std::string& why) {
    ParsedRequest parsed = parse_request(request, limits);
    if (!parsed.request) {
        why = rpc.file + ": " + parsed.error;
        return std::nullopt;
    }
    rpc.request = std::move(*parsed.request);
    if (TheirReply theirs = read_their_reply(reply); theirs.is_reply) rpc.reply = std::move(theirs);
    return rpc;
}

std::optional<RecordedRpc> read_rpc(const RpcFile& file, const RequestLimits& limits, std::string& why) {
    RecordedRpc rpc;
    rpc.at = file.at;
    rpc.file = file.request.string();
    try {
        const auto text = read_regular_file(file.request, limits.max_bytes + 1);
        if (!text) {
            why = rpc.file + ": it is gone";
            return std::nullopt;
        }
        const fs::path reply = file.reply();
        const auto answer = reply.empty() ? std::nullopt : read_regular_file(reply);
        return parse_rpc(std::move(rpc), *text, answer.value_or(""), limits, why);
    } catch (const FileError& e) {
        why = e.what();
        return std::nullopt;
    }
}

}  // namespace sluice
