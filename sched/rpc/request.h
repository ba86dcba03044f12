#pragma once
// A scheduler request, parsed: what the client said, bounded and cleaned, nothing looked up. Element names, limits and
// meaning: upstream's protocol (docs/compat.md lists where we are more tolerant). Every string, list and count is
// bounded by RequestLimits; what is cut is counted in `truncated_*`.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/match/host_facts.h"
#include "sluice/model/records.h"

namespace sluice {

/// Bounds of hostile input; defaults with reasons in request_parser.cpp, some are options.
struct RequestLimits {
    std::size_t max_bytes = 16u << 20;         ///< of the whole request; more is drained and refused
    std::size_t max_results = 5000;            ///< reported results
    std::size_t max_other_results = 20000;
    std::size_t max_in_progress = 20000;
    std::size_t max_files = 20000;             ///< sticky files
    std::size_t max_trickles = 500;
    std::size_t max_app_versions = 2000;
    std::size_t max_platforms = 20;
    std::size_t max_coprocs = 32;
    std::size_t max_keywords = 500;
    std::size_t max_wsl_distros = 32;
};

struct ReportedResult {
    std::string name;
    int client_state = 0;
    double cpu_time = 0, elapsed_time = 0, peak_working_set_size = 0, peak_swap_size = 0, peak_disk_usage = 0;
    int exit_status = 0;
    bool exit_status_given = false;
    int app_version_num = 0;
    std::string file_infos;   ///< concatenated <file_info> elements -> xml_doc_out, at most 65535 bytes
    std::string stderr_out;   ///< at most 65535 bytes: of a longer one the beginning and the end are kept
};

struct OtherResult {
    std::string name, plan_class;
    int app_version = -1;     ///< index into app_versions
};

struct InProgressResult {
    std::string name;
    double report_deadline = 0;   ///< UNIX s, as the client said
    double remaining = 0;         ///< cpu_time_remaining or time_remaining, s; < 0 not given
    double ncpus = 1;
    std::array<double, kProcTypes> gpu_usage{};
};

struct StickyFile {
    std::string name;
    double nbytes = 0;
    int status = 0;           ///< 1: present
    bool sticky = false;
};

struct TrickleUp {
    std::string variety, xml;
};

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
    std::string authenticator;        ///< cut at the first quote
    std::string cross_project_id;
    Id hostid = 0;
    std::int64_t rpc_seqno = 0;
    int core_major = 0, core_minor = 0, core_release = 0;
    int client_version() const { return 10000 * core_major + 100 * core_minor + core_release; }
    std::string platform_name;
    std::vector<std::string> alt_platforms;
    bool anonymous() const { return platform_name == "anonymous"; }
    std::string client_brand;

    double work_req_seconds = 0;      ///< clamped to [0, 28 days]
    double cpu_req_secs = 0;          ///< clamped
    double cpu_req_instances = 0;     ///< clamped to [0, 4096]
    double cpu_estimated_delay = 0;   ///< >= 0, finite
    double resource_share_fraction = 1, rrs_fraction = 1, prrs_fraction = 1, duration_correction_factor = 1;
    bool dont_send_work = false, client_cap_plan_class = false;
    bool dont_use_docker = false, dont_use_wsl = false;
    int sandbox = -1, allow_multiple_clients = -1;

    std::string global_prefs_source_email_hash;
    std::string global_prefs;          ///< raw, with wrapper
    std::string working_global_prefs;  ///< raw, the inner text
    std::string code_sign_key;         ///< stripped
    std::string time_stats_log;        ///< raw

    /// From <host_info>, <time_stats>, <net_stats>, <disk_usage>; non-finite numbers are 0.
    bool has_host_info = false, has_time_stats = false, has_net_stats = false, has_disk_usage = false;
    Host host;                         ///< only what the client describes; ids, credit … are untouched
    double client_now = 0;             ///< <time_stats><now>: the host's clock, 0 if not sent
    std::string cpu_features;
    std::string virtualbox_version, docker_version, docker_compose_version;
    int docker_type = 0, docker_compose_type = 0;
    bool vm_extensions_disabled = false, wsl_available = false;
    std::vector<WslDistro> wsl;
    std::vector<HostFacts::OpenclCpu> opencl_cpus;
    std::vector<Coproc> coprocs;       ///< in the order sent; without CPU

    std::vector<ReportedResult> results;
    std::vector<std::string> file_xfer_results;  ///< names to acknowledge only
    std::vector<RequestAppVersion> app_versions;
    bool has_other_results = false, has_in_progress_results = false;
    std::vector<OtherResult> other_results;
    std::vector<InProgressResult> in_progress;
    std::vector<StickyFile> files;
    std::vector<TrickleUp> trickles;
    bool has_user_keywords = false;
    std::vector<int> keywords_yes, keywords_no;

    bool results_truncated = false;    ///< reported results were dropped: no lost-job resend in this RPC
    bool lists_truncated = false;      ///< some other list was cut
    std::vector<std::string> unknown_tags;  ///< at most 20, for the debug log
};

struct ParsedRequest {
    std::optional<SchedulerRequest> request;  ///< nullopt: `error` is what the client is told
    std::string error;                        ///< "xp.get_tag() failed" …: upstream's wording
};
/// Never throws on any input; time linear in its size.
ParsedRequest parse_request(std::string_view text, const RequestLimits& limits);

}  // namespace sluice
