// SPDX-License-Identifier: LGPL-3.0-or-later
// <result> (a job that ended) and <msg_from_host> (a trickle-up).
#include <algorithm>

#include "sched/rpc/fields.h"
#include "sched/rpc/parse_parts.h"
#include "sluice/base/text.h"

namespace sluice::rpc {
namespace {

/// result.xml_doc_out and stderr_out are blobs of 64 KiB.
constexpr std::size_t kMaxBlob = 65535;
/// Upstream's buffer for a trickle message.
constexpr std::size_t kMaxTrickle = (std::size_t{256} << 10) - 1;

constexpr Field<ReportedResult> kResultFields[] = {
    {"name", &ReportedResult::name, kShortText},
    {"state", &ReportedResult::client_state},
    {"final_cpu_time", &ReportedResult::cpu_time},
    {"final_elapsed_time", &ReportedResult::elapsed_time},
    {"final_peak_working_set_size", &ReportedResult::peak_working_set_size},
    {"final_peak_swap_size", &ReportedResult::peak_swap_size},
    {"final_peak_disk_usage", &ReportedResult::peak_disk_usage},
    {"app_version_num", &ReportedResult::app_version_num},
};

/// The middle of a long text is the least telling: what happened first and what happened last both stay.
std::string keep_both_ends(std::string_view text) {
    if (text.size() <= kMaxBlob) return std::string(text);
    const std::string note = "\n[" + std::to_string(text.size() - kMaxBlob) + "+ bytes of stderr left out]\n";
    const std::size_t head = (kMaxBlob - note.size()) / 2, tail = kMaxBlob - note.size() - head;
    return std::string(text.substr(0, head)) + note + std::string(text.substr(text.size() - tail));
}

/// The exit status is a 32-bit pattern: 3221225477 is Windows' 0xC0000005, upstream's -1073741819.
void read_exit_status(XmlReader& xml, ReportedResult& result) {
    const auto text = xml.text(64);
    if (!text || trim(*text).empty()) return;
    const auto value = parse_int(*text);
    if (!value) return;
    result.exit_status = *value > INT32_MAX && *value <= UINT32_MAX
                             ? static_cast<std::int32_t>(static_cast<std::uint32_t>(*value))
                             : clamp_to_int32(*value);
    result.exit_status_given = true;
}

/// Whole elements only: half a <file_info> would make the document useless to validators and assimilators.
void add_file_info(XmlReader& xml, ReportedResult& result) {
    constexpr std::string_view kOpen = "<file_info>", kClose = "</file_info>";
    if (xml.empty_element()) return;
    const auto body = xml.raw_to_end();
    if (!body) return;
    if (result.file_infos.size() + kOpen.size() + body->size() + kClose.size() > kMaxBlob) return;
    result.file_infos.append(kOpen).append(*body).append(kClose);
}

/// Takes <variety> out of a message; of several the last counts. If nothing else stands on its line, the line goes too.
/// The text is read once: no byte is looked at more than a few times, however many there are.
void take_variety(std::string_view message, TrickleUp& trickle) {
    constexpr std::string_view kOpen = "<variety>", kClose = "</variety>", kBlanks = " \t\r";
    std::size_t done = 0;
    for (;;) {
        const auto begin = message.find(kOpen, done);
        const auto end = begin == std::string_view::npos ? begin : message.find(kClose, begin);
        if (end == std::string_view::npos) break;
        const std::string_view text = message.substr(begin + kOpen.size(), end - begin - kOpen.size());
        trickle.variety = cut_utf8(to_utf8(xml_unescape(trim(text))), kColumnText);
        std::size_t line = begin, next = end + kClose.size();
        while (line > done && kBlanks.find(message[line - 1]) != std::string_view::npos) --line;
        const auto after = std::min(message.find_first_not_of(kBlanks, next), message.size());
        const bool alone =
            (line == 0 || message[line - 1] == '\n') && (after == message.size() || message[after] == '\n');
        trickle.xml += message.substr(done, (alone ? line : begin) - done);
        done = alone ? std::min(after + 1, message.size()) : next;
    }
    trickle.xml += message.substr(done);
}

}  // namespace

void parse_result(XmlReader& xml, ParseState& state) {
    ReportedResult result;
    while (xml.next_child("result")) {
        const std::string_view name = xml.name();
        if (name == "exit_status") {
            read_exit_status(xml, result);
        } else if (name == "stderr_out") {
            if (xml.empty_element()) continue;
            if (const auto text = xml.raw_to_end()) result.stderr_out = keep_both_ends(*text);
        } else if (name == "file_info") {
            add_file_info(xml, result);
        } else if (!read_field(xml, result, kResultFields)) {
            xml.skip();  // platform, version_num, plan_class, report_deadline …: no use
        }
    }
    if (result.name.empty()) return;
    if (state.request.results.size() >= state.limits.max_results) {
        state.request.results_truncated = true;
        return;
    }
    state.request.results.push_back(std::move(result));
}

void parse_trickle(XmlReader& xml, ParseState& state) {
    if (xml.empty_element()) return;
    const auto body = xml.raw_to_end();
    if (!body) return;
    std::size_t& left_out = state.request.trickles_over;
    if (left_out > 0) {  // what is taken is the beginning, in order
        ++left_out;
        return;
    }
    TrickleUp trickle;
    take_variety(to_utf8(*body), trickle);
    // The blanks before the end tag belong to its line, not to the message.
    while (!trickle.xml.empty() && (trickle.xml.back() == ' ' || trickle.xml.back() == '\t')) trickle.xml.pop_back();
    trickle.xml = cut_utf8(trickle.xml, kMaxTrickle);
    const std::size_t bytes = state.request.trickle_bytes + trickle_cost(trickle);
    if (bytes > state.limits.max_trickle_bytes) {
        ++left_out;
        return;
    }
    state.request.trickle_bytes = bytes;
    state.request.trickles.push_back(std::move(trickle));
}

}  // namespace sluice::rpc
