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
void add_file_info(XmlReader& xml, ParseState& state, ReportedResult& result) {
    constexpr std::string_view kOpen = "<file_info>", kClose = "</file_info>";
    if (xml.empty_element()) return;
    const auto body = xml.raw_to_end();
    if (!body) return;
    if (result.file_infos.size() + kOpen.size() + body->size() + kClose.size() > kMaxBlob) {
        state.request.lists_truncated = true;
        return;
    }
    result.file_infos.append(kOpen).append(*body).append(kClose);
}

/// Takes <variety> out of the message; if nothing else stood on its line, the line too.
std::string take_variety(std::string& message) {
    constexpr std::string_view kOpen = "<variety>", kClose = "</variety>";
    const auto begin = message.find(kOpen);
    if (begin == std::string::npos) return {};
    const auto end = message.find(kClose, begin);
    if (end == std::string::npos) return {};
    const auto text_begin = begin + kOpen.size();
    const std::string variety =
        to_utf8(xml_unescape(trim(std::string_view(message).substr(text_begin, end - text_begin))));
    std::size_t from = begin, to = end + kClose.size();
    const auto line_begin = message.rfind('\n', begin) + 1;  // npos + 1 = 0: the first line
    const auto line_end = std::min(message.find('\n', to), message.size());
    const std::string_view all = message;
    if (trim(all.substr(line_begin, begin - line_begin)).empty() && trim(all.substr(to, line_end - to)).empty()) {
        from = line_begin;
        to = std::min(line_end + 1, message.size());
    }
    message.erase(from, to - from);
    return variety;
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
            add_file_info(xml, state, result);
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
    if (state.request.trickles.size() >= state.limits.max_trickles) {
        state.request.lists_truncated = true;
        return;
    }
    TrickleUp trickle;
    trickle.xml = to_utf8(*body);
    trickle.variety = cut_utf8(take_variety(trickle.xml), kColumnText);
    // The blanks before the end tag belong to its line, not to the message.
    while (!trickle.xml.empty() && (trickle.xml.back() == ' ' || trickle.xml.back() == '\t')) trickle.xml.pop_back();
    trickle.xml = cut_utf8(trickle.xml, kMaxTrickle);
    state.request.trickles.push_back(std::move(trickle));
}

}  // namespace sluice::rpc
