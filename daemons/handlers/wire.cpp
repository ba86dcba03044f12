// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/handlers/wire.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sluice {
namespace {

// Each list of members stands once, for both directions.

/// How many bytes an item takes at least, as `each` writes it.
template <typename T>
std::size_t least_bytes(auto&& each) {
    WireWriter wire;
    T item{};
    each(wire, item);
    return wire.text().size();
}

template <typename Wire, typename T>
void list_of(Wire& wire, std::vector<T>& list, auto&& each) {
    auto n = static_cast<std::uint64_t>(list.size());
    wire(n);
    if constexpr (std::is_same_v<Wire, WireReader>) {
        // What is made of a frame takes no more than a few times its memory, whatever it says.
        if (n > wire.left() / least_bytes<T>(each)) throw WireError("a list is longer than its frame");
        list.resize(n);
    }
    for (T& item : list) each(wire, item);
}

constexpr auto kPlain = [](auto& wire, auto& value) { wire(value); };

void members(auto& wire, WireHello& h) {
    wire(h.version, h.project_dir, h.upload_dir, h.download_dir, h.app_name, h.appid, h.uldl_dir_fanout,
         h.app_target_nresults, h.debug_level, h.max_granted_credit, h.time_limit, h.dry_run);
}

void members(auto& wire, Workunit& w) {
    wire(w.id, w.create_time, w.appid, w.name, w.xml_doc, w.batch, w.rsc_fpops_est, w.rsc_fpops_bound,
         w.rsc_memory_bound, w.rsc_disk_bound, w.rsc_bandwidth_bound, w.need_validate, w.canonical_resultid,
         w.canonical_credit, w.transition_time, w.delay_bound, w.error_mask, w.file_delete_state, w.assimilate_state,
         w.hr_class, w.opaque, w.min_quorum, w.target_nresults, w.max_error_results, w.max_total_results,
         w.max_success_results, w.result_template_file, w.priority, w.fileset_id, w.app_version_id,
         w.transitioner_flags, w.size_class, w.keywords, w.app_version_num);
}

void members(auto& wire, Result& r) {
    wire(r.id, r.create_time, r.workunitid, r.server_state, r.outcome, r.client_state, r.hostid, r.userid,
         r.report_deadline, r.sent_time, r.received_time, r.name, r.cpu_time, r.xml_doc_in, r.xml_doc_out, r.stderr_out,
         r.batch, r.file_delete_state, r.validate_state, r.claimed_credit, r.granted_credit, r.opaque, r.random,
         r.app_version_num, r.appid, r.exit_status, r.teamid, r.priority, r.elapsed_time, r.flops_estimate,
         r.app_version_id, r.runtime_outlier, r.size_class, r.peak_working_set_size, r.peak_swap_size,
         r.peak_disk_usage);
}

void members(auto& wire, OutputFile& f) {
    std::string path = f.path.string();
    wire(f.name, f.logical, f.optional, f.no_validate, path);
    if constexpr (std::is_same_v<decltype(wire), WireReader&>) f.path = std::move(path);
}

void optional_number(auto& wire, std::optional<double>& number) {
    bool is_there = number.has_value();
    double value = number.value_or(0);
    wire(is_there, value);
    if constexpr (std::is_same_v<decltype(wire), WireReader&>) number = is_there ? std::optional(value) : std::nullopt;
}

void members(auto& wire, LookedAt& l) {
    wire(l.kind, l.why, l.outlier, l.suspicious);
    optional_number(wire, l.credit);
    optional_number(wire, l.opaque);
}

constexpr auto kMembers = [](auto& wire, auto& value) { members(wire, value); };
constexpr auto kFiles = [](auto& wire, auto& files) { list_of(wire, files, kMembers); };

void members(auto& wire, JudgeAnswer& a) {
    list_of(wire, a.looked, kMembers);
    list_of(wire, a.compared, [](auto& w, auto& row) { list_of(w, row, kPlain); });
    list_of(wire, a.asked, [](auto& w, auto& row) { list_of(w, row, kPlain); });
    wire(a.is_set, a.canonical);
    list_of(wire, a.standing, kPlain);
}

void members(auto& wire, AssimilateQuestion& q) {
    members(wire, q.wu);
    list_of(wire, q.results, kMembers);
    wire(q.canonical);
    list_of(wire, q.files, kMembers);
}

void members(auto& wire, Assimilated& a) { wire(a.kind, a.why); }

/// A writer changes nothing of what it writes.
template <typename T>
std::string written(const T& value) {
    WireWriter wire;
    members(wire, const_cast<T&>(value));  // NOLINT: one list of members for both directions
    return wire.text();
}

void expect_end(const WireReader& wire) {
    if (wire.left() > 0) throw WireError("a frame is too long");
}

template <typename T>
void read_from(std::string_view text, T& value) {
    WireReader wire(text);
    members(wire, value);
    expect_end(wire);
}

bool read_all(int socket, char* to, std::size_t n) {
    while (n > 0) {
        const ssize_t got = ::read(socket, to, n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        n -= static_cast<std::size_t>(got);
    }
    return true;
}

}  // namespace

std::string to_wire(const WireHello& hello) { return written(hello); }
std::string to_wire(const JudgeAnswer& answer) { return written(answer); }
std::string to_wire(const AssimilateQuestion& question) { return written(question); }
std::string to_wire(const Assimilated& answer) { return written(answer); }

std::string to_wire(const Workunit& wu, const std::vector<Result>& results,
                    const std::vector<std::vector<OutputFile>>& files, const std::vector<char>& asked,
                    int app_target_nresults) {
    // NOLINTBEGIN(cppcoreguidelines-pro-type-const-cast): written() says why
    WireWriter wire;
    members(wire, const_cast<Workunit&>(wu));
    list_of(wire, const_cast<std::vector<Result>&>(results), kMembers);
    list_of(wire, const_cast<std::vector<std::vector<OutputFile>>&>(files), kFiles);
    list_of(wire, const_cast<std::vector<char>&>(asked), kPlain);
    // NOLINTEND(cppcoreguidelines-pro-type-const-cast)
    wire(app_target_nresults);
    return wire.text();
}

void from_wire(std::string_view text, WireHello& hello) {
    WireReader wire(text);
    if (wire.one<int>() != kWireVersion) throw WireError("another version of Sluice");
    read_from(text, hello);
}
void from_wire(std::string_view text, JudgeQuestion& q) {
    WireReader wire(text);
    members(wire, q.wu);
    list_of(wire, q.results, kMembers);
    list_of(wire, q.files, kFiles);
    list_of(wire, q.asked, kPlain);
    wire(q.app_target_nresults);
    expect_end(wire);
    if (q.files.size() != q.results.size() || q.asked.size() != q.results.size()) throw WireError("lists differ");
}
void from_wire(std::string_view text, JudgeAnswer& answer) { read_from(text, answer); }
void from_wire(std::string_view text, AssimilateQuestion& question) { read_from(text, question); }
void from_wire(std::string_view text, Assimilated& answer) { read_from(text, answer); }

bool send_frame(int socket, std::string_view text) {
    if (text.size() > kMaxFrame) throw WireError("a frame is too large");
    const auto n = static_cast<std::uint32_t>(text.size());
    std::string all(reinterpret_cast<const char*>(&n), sizeof n);
    all += text;
    std::string_view rest = all;
    while (!rest.empty()) {
        const ssize_t sent = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

std::optional<std::string> receive_frame(int socket) {
    std::uint32_t n = 0;
    if (!read_all(socket, reinterpret_cast<char*>(&n), sizeof n)) return std::nullopt;
    if (n > kMaxFrame) throw WireError("a frame is too large");
    std::string text(n, '\0');
    if (!read_all(socket, text.data(), n)) return std::nullopt;
    return text;
}

}  // namespace sluice
