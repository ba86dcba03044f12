// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A scheduler request, parsed: what the client said, bounded and cleaned, nothing looked up. Element names, limits and
// meaning: upstream's protocol (docs/compat.md lists where we are more tolerant). Every string, list and count is
// bounded by RequestLimits.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/match/host_facts.h"
#include "sluice/model/host.h"

namespace sluice {

/// Bounds of hostile input. What is over a list's bound is read and dropped.
struct RequestLimits {
    /// Of the whole request; more is drained and refused. A thousand reported jobs with 64 KiB of stderr each fit.
    std::size_t max_bytes = std::size_t{64} << 20;
    /// Reported results: <max_results_accepted>, or this. Clients send at most a few hundred at once; each costs rows.
    std::size_t max_results = 5000;
    /// Jobs on the host: a 256-core host with a buffer of ten days of short jobs has less.
    std::size_t max_other_results = 20000, max_in_progress = 20000;
    std::size_t max_files = 20000;  ///< sticky files: a locality project keeps some thousands on a host
    /// Of trickle messages, as trickle_cost() counts them. Clients keep them while they have no network: no small
    /// number.
    std::size_t max_trickle_bytes = std::size_t{16} << 20;
    std::size_t max_app_versions = 2000;  ///< every version that a project ever had for a host
    std::size_t max_platforms = 20;       ///< clients know at most six
    std::size_t max_coprocs = 32;         ///< types of devices, not devices
    std::size_t max_keywords = 500;       ///< upstream has some 120 in all
    std::size_t max_wsl_distros = 32;
};

struct ReportedResult {
    std::string name;
    int client_state = 0;
    double cpu_time = 0, elapsed_time = 0, peak_working_set_size = 0, peak_swap_size = 0, peak_disk_usage = 0;
    int exit_status = 0;
    bool exit_status_given = false;
    int app_version_num = 0;
    std::string file_infos;  ///< concatenated <file_info> elements -> xml_doc_out, at most 65535 bytes
    std::string stderr_out;  ///< raw, at most 65535 bytes: of a longer one the beginning and the end are kept
};

struct OtherResult {
    std::string name, plan_class;
    int app_version = -1;  ///< index into app_versions
};

struct InProgressResult {
    std::string name;
    double report_deadline = 0;  ///< UNIX s, as the client said
    double remaining = 0;        ///< cpu_time_remaining or time_remaining, s; < 0 not given
    double ncpus = 1;
    std::array<double, kProcTypes> gpu_usage{};
};

struct StickyFile {
    std::string name;
    double nbytes = 0;
    int status = 0;  ///< 1: present
    bool sticky = false;
};

struct TrickleUp {
    std::string variety, xml;  ///< xml: the message's text without <variety>
};
/// What a message takes in the database: its text, and a row with its index entries.
inline std::size_t trickle_cost(const TrickleUp& t) { return t.variety.size() + t.xml.size() + 256; }

/// <app_version> of the request as sent (apps are resolved later).
struct RequestAppVersion {
    std::string app_name, platform, plan_class;
    int version_num = 0;
    double avg_ncpus = 1, flops = 0;
    std::string coproc_type;
    double coproc_count = 0;
    bool syntax_error = false;
};

struct SchedulerRequest {
    std::string authenticator;  ///< cut at the first quote
    std::string cross_project_id;
    Id hostid = 0;
    std::int64_t rpc_seqno = 0;
    int core_major = 0, core_minor = 0, core_release = 0;
    int client_version() const { return 10000 * core_major + 100 * core_minor + core_release; }
    std::string platform_name;
    std::vector<std::string> alt_platforms;
    bool anonymous() const { return platform_name == "anonymous"; }

    double work_req_seconds = 0;     ///< clamped to [0, 28 days]
    double cpu_req_secs = 0;         ///< clamped
    double cpu_req_instances = 0;    ///< clamped to [0, 4096]
    double cpu_estimated_delay = 0;  ///< >= 0, finite
    double duration_correction_factor = 1;
    bool dont_send_work = false, client_cap_plan_class = false;
    bool dont_use_docker = false, dont_use_wsl = false;
    int allow_multiple_clients = -1;

    std::string global_prefs_source_email_hash;
    std::string global_prefs;          ///< raw, with wrapper
    std::string working_global_prefs;  ///< raw, the inner text (normally a <global_preferences> element)
    std::string code_sign_key;         ///< stripped
    std::string time_stats_log;        ///< raw

    /// From <host_info>, <time_stats>, <net_stats>, <disk_usage>; non-finite numbers are 0.
    bool has_host_info = false, has_time_stats = false, has_disk_usage = false;
    Host host;                 ///< only what the client describes; ids, credit … are untouched
    double client_now = 0;     ///< <time_stats><now>: the host's clock, 0 if not sent
    double client_start = 0;   ///< <time_stats><client_start_time>, by the same clock; 0 if not sent
    std::string cpu_features;  ///< as in HostFacts: lower case, blank-padded; also those within p_model's [ ]
    std::string virtualbox_version, docker_version;
    int docker_type = 0;
    bool vm_extensions_disabled = false, wsl_available = false;
    std::vector<WslDistro> wsl;
    std::vector<HostFacts::OpenclCpu> opencl_cpus;
    std::vector<Coproc> coprocs;  ///< in the order sent, types distinct; without CPU

    /// Names are distinct. Upstream diverts names with "download" or "upload" in them; here they are results like any.
    std::vector<ReportedResult> results;
    std::vector<RequestAppVersion> app_versions;
    bool has_other_results = false, has_in_progress_results = false;
    std::vector<OtherResult> other_results;
    std::vector<InProgressResult> in_progress;
    std::vector<StickyFile> files;
    std::vector<TrickleUp> trickles;
    std::size_t trickle_bytes = 0;  ///< the costs of these
    std::size_t trickles_over = 0;  ///< messages behind the first that went beyond max_trickle_bytes; dropped
    bool has_user_keywords = false;
    std::vector<int> keywords_yes, keywords_no;

    bool results_truncated = false;         ///< reported results were dropped: no lost-job resend in this RPC
    bool other_results_truncated = false;   ///< the list of jobs on the host was cut: no lost-job resend, no aborts
    std::vector<std::string> unknown_tags;  ///< at most 20, for the debug log
};

struct ParsedRequest {
    std::optional<SchedulerRequest> request;  ///< nullopt: see `error`
    /// Upstream's wording, for messages::bad_request(): "xp.get_tag() failed" (nothing like XML), "no start tag",
    /// "no end tag"; ours: "request too large".
    std::string error;
};
/// Never throws on any input; time linear in its size. `done_with` is told now and then how many of the first bytes are
/// needed no more.
ParsedRequest parse_request(std::string_view text, const RequestLimits& limits,
                            const std::function<void(std::size_t)>& done_with = {});

}  // namespace sluice
