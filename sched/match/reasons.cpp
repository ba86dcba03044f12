// SPDX-License-Identifier: LGPL-3.0-or-later
// One row for each reason, in the order of verdict.h.
#include "sluice/match/reasons.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string_view>

#include "sluice/model/codes.h"

namespace sluice {
namespace {

std::string client_text(double v) {
    const auto n = static_cast<long>(v);
    return fmt::format("{}.{}.{}", n / 10000, n / 100 % 100, n % 100);
}
std::string too_old(const Verdict& v) {
    return fmt::format("needs client {}, host runs {}", client_text(v.required), client_text(v.value));
}
std::string too_new(const Verdict& v) {
    return fmt::format("needs client {} or older, host runs {}", client_text(v.required), client_text(v.value));
}

std::string late(const Verdict& v) {
    if (v.required == 0) return "the app is hard and the host has no credit yet";
    return fmt::format("would be done in {}, must be done in {}", duration_text(v.value), duration_text(v.required));
}

std::string too_late_for_plan(const Verdict& v) {
    if (v.required <= 0) return fmt::format("would be done in {}, when T has passed", duration_text(v.value));
    return fmt::format("would be done in {}, T is in {}", duration_text(v.value), duration_text(v.required));
}

std::string reserved(const Verdict& v) {
    if (v.required <= 1) return "waits for low-turnaround hosts";
    return fmt::format("has waited {} of {} for low-turnaround hosts", duration_text(v.value),
                       duration_text(v.required));
}

std::string other_class(const Verdict& v) {
    return fmt::format("committed to class {:g}, host is of class {:g}", v.required, v.value);
}

std::string other_version(const Verdict& v) {
    if (v.required == 0) return "";
    return fmt::format("bound to version {:g}{}", v.required,
                       v.value != 0 ? fmt::format(", host would run {:g}", v.value) : "");
}

std::string result_state(const Verdict& v) {
    if (v.value == 0) return "";
    switch (static_cast<ServerState>(static_cast<int>(v.value))) {
        case ServerState::kInactive: return "it is inactive";
        case ServerState::kUnsent: return "it is unsent";
        case ServerState::kInProgress: return "it is in progress";
        case ServerState::kOver: return "it is over";
    }
    return "it is gone";
}

std::string cut_document(const Verdict& v) {
    return v.value > 0 ? fmt::format("{:.0f} bytes, and it is not whole", v.value) : "it is not there";
}

std::string by_unit(const Verdict& v) {
    const std::string_view unit = reason_unit(v.reason);
    if (v.value == 0 && (v.required == 0 || (v.required == 1 && unit.empty()))) return "";  // nothing was measured
    if (unit == "bytes") return fmt::format("needs {}, host allows {}", bytes_text(v.required), bytes_text(v.value));
    if (unit == "bytes/s")
        return fmt::format("needs {}/s, host measured {}/s", bytes_text(v.required), bytes_text(v.value));
    if (unit == "jobs") return fmt::format("has {:g}, limit {:g}", v.value, v.required);
    if (unit == "results") return fmt::format("{:g} there already", v.value);
    return fmt::format("has {:g}, needs {:g}", v.value, v.required);
}

// A row a paragraph, advice at its end: clang-format would spread each over ten lines.
// clang-format off
constexpr ReasonRow kRows[] = {
    {.reason = Reason::kFeasible, .name = "feasible", .of_resources = -1,
     .advice = "Nothing to do: the job can be sent."},
    {.reason = Reason::kNoSuchApp, .name = "no_such_app", .progress = Progress::kNoMatch,
     .advice = "The app is deprecated or new. Clear app.deprecated, or touch reread_db: the feeder then reads the app table.",
     .phrase = [](const Verdict& v) { return fmt::format("app id {:g}", v.value); }},
    {.reason = Reason::kNoAppVersion, .name = "no_app_version", .progress = Progress::kNoMatch, .of_versions = 0,
     .of_resources = 0, .told = VolunteerNotice::kNoVersion,
     .advice = "Release a version for the host's platforms with update_versions, and touch reread_db."},
    {.reason = Reason::kAppNotSelected, .name = "app_not_selected", .progress = Progress::kNotOurs,
     .advice = "The volunteer did not select this app and allows no others. Nothing to do."},
    {.reason = Reason::kBetaNotAllowed, .name = "beta_not_allowed", .progress = Progress::kNotOurs,
     .advice = "Only volunteers who run test applications get it. To release it, clear app.beta or the version's beta flag."},
    {.reason = Reason::kUserFilter, .name = "user_filter",
     .advice = "With <user_filter>, workunit.batch is the id of the only user allowed. Unset it, or submit the job with batch 0.",
     .phrase = [](const Verdict& v) { return fmt::format("for user {:g}, this is user {:g}", v.required, v.value); }},
    {.reason = Reason::kJobWithoutBatch, .name = "without_batch",
     .advice = "<jobs_without_batch> refuses jobs without a batch. Set it to the number or e-mail address of the user who is charged, or submit the job into a batch."},
    {.reason = Reason::kHrClassUnknown, .name = "hr_class_unknown", .told = VolunteerNotice::kHostClass,
     .advice = "Homogeneous redundancy does not know this host's kind. compat_level 1 knows more systems; coarse classes (type 2) hold more hosts."},
    {.reason = Reason::kHrClassMismatch, .name = "hr_class_mismatch", .told = VolunteerNotice::kCommitted,
     .advice = "The workunit waits for hosts of another class. feeder --purge_stale frees jobs whose class never calls. <hr_allocate_slots> keeps room for every class.",
     .phrase = other_class},
    {.reason = Reason::kAppVersionMismatch, .name = "app_version_mismatch", .of_versions = 2, .of_resources = 4,
     .advice = "The workunit is bound to a version that the feeder does not keep or this host can't run. Lower the app's min_version, or release the version for the platform.",
     .phrase = other_version},
    {.reason = Reason::kMemory, .name = "memory", .unit = "bytes", .of_resources = 4, .told = VolunteerNotice::kMemory,
     .advice = "Lower rsc_memory_bound if it is generous. Otherwise only hosts that allow more memory can run the job."},
    {.reason = Reason::kDisk, .name = "disk", .unit = "bytes", .told = VolunteerNotice::kDisk,
     .advice = "Lower rsc_disk_bound if it is generous: the host's preferences leave less."},
    {.reason = Reason::kBandwidth, .name = "bandwidth", .unit = "bytes/s", .told = VolunteerNotice::kBandwidth,
     .advice = "Lower rsc_bandwidth_bound: the host's download speed is below it."},
    {.reason = Reason::kKeywordRefused, .name = "keyword_refused", .told = VolunteerNotice::kKeywords,
     .advice = "The volunteer said no to one of the job's keywords.",
     .phrase = [](const Verdict& v) { return fmt::format("keyword {:g}", v.value); }},
    {.reason = Reason::kNeedsReliable, .name = "needs_reliable", .of_resources = 4,
     .advice = "The job is a retry for reliable hosts. If none is left, raise reliable_on_priority or reliable_max_avg_turnaround."},
    {.reason = Reason::kReservedForLtt, .name = "reserved_for_ltt", .unit = "s",
     .advice = "Accelerated jobs wait for low-turnaround hosts. With ltt_reserve_timeout others get them after a while.",
     .phrase = reserved},
    {.reason = Reason::kPlanLeftOut, .name = "plan_left_out", .progress = Progress::kLastChecks,
     .advice = "Jobs of planned batches fail on this host too often. It gets other work until the batches in progress are done.",
     .phrase = [](const Verdict& v) { return fmt::format("{:g} of its {:g} jobs of batches failed", v.value, v.required); }},
    {.reason = Reason::kPlanAwaited, .name = "plan_awaited", .progress = Progress::kLastChecks,
     .advice = "The batch is new or incomplete: its jobs wait a minute or two for the next plan. If sluice_batch submit was killed, submit the same file again. Otherwise the jobs go to any host after five minutes."},
    {.reason = Reason::kPlanTooLate, .name = "plan_too_late", .unit = "s", .progress = Progress::kLastChecks,
     .advice = "The host can't be done with a job of this planned batch by its T. batch_planner --explain BATCH says which hosts can.",
     .phrase = too_late_for_plan},
    {.reason = Reason::kNonCpuIntensive, .name = "non_cpu_intensive", .progress = Progress::kNoMatch,
     .advice = "A host gets one job of a non-CPU-intensive app, in a scan of its own."},
    {.reason = Reason::kResourceNotWanted, .name = "resource_not_wanted", .progress = Progress::kNoMatch,
     .of_versions = 1, .of_resources = 1, .told = VolunteerNotice::kNoVersion,
     .advice = "The host asked for no work of the resource that this app's versions use."},
    {.reason = Reason::kClientTooOld, .name = "client_too_old",
     .advice = "The version or its plan class asks for a newer client. Lower min_core_version if that is not needed.",
     .phrase = too_old},
    {.reason = Reason::kClientTooNew, .name = "client_too_new",
     .advice = "Raise max_core_version of the version or its plan class.", .phrase = too_new},
    {.reason = Reason::kNoPlanClassSupport, .name = "no_plan_class_support",
     .advice = "The client is too old for plan classes. Release a version without one."},
    {.reason = Reason::kPlanClassRefused, .name = "plan_class_refused", .progress = Progress::kNotOurs,
     .advice = "The plan class is unknown, is wrong (the log says why), or does not accept this host's model or preferences."},
    {.reason = Reason::kGpuRefusedByPrefs, .name = "gpu_refused_by_prefs",
     .advice = "The volunteer allows no work for this kind of GPU."},
    {.reason = Reason::kCpuRefusedByPrefs, .name = "cpu_refused_by_prefs",
     .advice = "The volunteer allows no CPU work for this project."},
    {.reason = Reason::kCustomHook, .name = "custom_hook", .progress = Progress::kNotOurs,
     .advice = "The plan class takes only certain workunits, batches or users (min_wu_id … max_batch, user_id)."},
    {.reason = Reason::kPlanClassName, .name = "plan_class_name", .progress = Progress::kNotOurs, .of_versions = 4,
     .of_resources = 4, .told = VolunteerNotice::kPlanClassName,
     .advice = "At compat_level 0 a plan class's name says which GPU it is for: cuda, nvidia, ati, amd, intel_gpu or apple_gpu. This name says another than <gpu_type>. Rename the class, or set <compat_level>1."},
    {.reason = Reason::kVersionDocument, .name = "version_document", .progress = Progress::kNotOurs,
     .advice = "app_version.xml_doc is not whole: it ends without </app_version>. Deprecate the version and release it again.",
     .phrase = cut_document},
    {.reason = Reason::kGpuMissing, .name = "gpu_missing", .progress = Progress::kNotOurs, .of_versions = 2,
     .of_resources = 2, .advice = "The host has no GPU of the plan class's type."},
    {.reason = Reason::kGpuMemory, .name = "gpu_memory", .unit = "bytes",
     .advice = "Lower the plan class's min_gpu_ram_mb if it is generous."},
    {.reason = Reason::kGpuDriver, .name = "gpu_driver",
     .advice = "The GPU's driver or runtime is older or newer than the plan class demands. Volunteers can update it."},
    {.reason = Reason::kGpuCapability, .name = "gpu_capability",
     .advice = "The GPU lacks what the plan class demands: compute capability, double precision or speed."},
    {.reason = Reason::kOpenclMissing, .name = "opencl_missing",
     .advice = "The device offers no OpenCL, or an older one than the plan class demands."},
    {.reason = Reason::kVirtualBox, .name = "virtualbox",
     .advice = "VirtualBox is missing, unusable, excluded or outside the plan class's versions."},
    {.reason = Reason::kDocker, .name = "docker",
     .advice = "Docker, or a WSL distribution with it, is missing or switched off on the host."},
    {.reason = Reason::kCpuFeature, .name = "cpu_feature",
     .advice = "The processor lacks an instruction set or virtualisation of the plan class. Release a version without it."},
    {.reason = Reason::kOsVersion, .name = "os_version",
     .advice = "The host's system or C library is outside the plan class's versions."},
    {.reason = Reason::kCpuCount, .name = "cpu_count",
     .advice = "The host may use fewer CPUs than the plan class's min_ncpus."},
    {.reason = Reason::kDeadline, .name = "deadline", .unit = "s", .progress = Progress::kLastChecks,
     .told = VolunteerNotice::kDeadline,
     .advice = "The host would be late. Raise delay_bound, make jobs smaller, or use size classes.",
     .phrase = late},
    {.reason = Reason::kDeadlineOthers, .name = "deadline_others", .unit = "s", .progress = Progress::kLastChecks,
     .told = VolunteerNotice::kDeadline, .advice = "The job would make another job on the host late. Raise delay_bound.",
     .phrase = [](const Verdict& v) { return fmt::format("another job would be {} late", duration_text(v.value)); }},
    {.reason = Reason::kPlanRoom, .name = "plan_room", .unit = "jobs", .progress = Progress::kLastChecks,
     .advice = "The host has as many jobs of planned batches as processors, or as it can be done with in time. It gets another when one is done."},
    {.reason = Reason::kDiskSet, .name = "disk_set", .unit = "bytes", .progress = Progress::kLastChecks,
     .told = VolunteerNotice::kDisk, .advice = "The jobs of this reply use up the host's disk. It gets more when they are done."},
    {.reason = Reason::kMemorySet, .name = "memory_set", .unit = "bytes", .progress = Progress::kLastChecks,
     .told = VolunteerNotice::kMemory, .advice = "The jobs that run together use up the host's memory."},
    {.reason = Reason::kOneInstancePerWorkunit, .name = "one_instance_per_workunit", .progress = Progress::kLastChecks,
     .advice = "Another instance of the workunit is in this reply. Other hosts take this one."},
    {.reason = Reason::kInProgressLimit, .name = "in_progress_limit", .unit = "jobs", .progress = Progress::kLimit,
     .told = VolunteerNotice::kInProgress,
     .advice = "Raise <max_wus_in_progress> or <max_wus_in_progress_gpu> in config.xml, or <max_jobs_in_progress> in config_aux.xml."},
    {.reason = Reason::kAppInProgressLimit, .name = "app_in_progress_limit", .unit = "jobs",
     .progress = Progress::kLimit, .told = VolunteerNotice::kInProgress,
     .advice = "Raise the app's limit in <max_jobs_in_progress> of config_aux.xml."},
    {.reason = Reason::kDailyQuota, .name = "daily_quota", .unit = "jobs", .progress = Progress::kLimit,
     .told = VolunteerNotice::kQuota,
     .advice = "The host used up its jobs for today, often after errors. See why its jobs fail, or raise daily_result_quota."},
    {.reason = Reason::kJobsPerRpcLimit, .name = "jobs_per_rpc_limit", .unit = "jobs", .progress = Progress::kLimit,
     .advice = "Raise max_wus_to_send, which counts per CPU."},
    {.reason = Reason::kUserJobLimit, .name = "user_job_limit", .unit = "jobs", .progress = Progress::kLimit,
     .told = VolunteerNotice::kInProgress, .advice = "The volunteer limits jobs in progress (preference max_jobs)."},
    {.reason = Reason::kOneResultPerUser, .name = "one_result_per_user", .unit = "results",
     .progress = Progress::kLastChecks,
     .advice = "The volunteer has an instance of this workunit. With few volunteers use one_result_per_host_per_wu instead."},
    {.reason = Reason::kOneResultPerHost, .name = "one_result_per_host", .unit = "results",
     .progress = Progress::kLastChecks, .advice = "The host has an instance of this workunit. Others take it."},
    {.reason = Reason::kHrCommittedElsewhere, .name = "hr_committed_elsewhere", .progress = Progress::kLastChecks,
     .told = VolunteerNotice::kCommitted,
     .advice = "Another host has meanwhile committed the workunit to its class.", .phrase = other_class},
    {.reason = Reason::kVersionCommittedElsewhere, .name = "version_committed_elsewhere",
     .progress = Progress::kLastChecks,
     .advice = "Another host has meanwhile committed the workunit to its app version.",
     .phrase = other_version},
    {.reason = Reason::kWorkunitError, .name = "workunit_error", .progress = Progress::kLastChecks,
     .advice = "The workunit was cancelled or failed; its slot was emptied.",
     .phrase = [](const Verdict& v) { return fmt::format("error mask {:g}", v.value); }},
    {.reason = Reason::kWorkunitDone, .name = "workunit_done", .progress = Progress::kLastChecks,
     .advice = "The workunit has a canonical result; its slot was emptied.",
     .phrase = [](const Verdict& v) { return fmt::format("canonical result {:g}", v.value); }},
    {.reason = Reason::kResultGone, .name = "result_gone", .progress = Progress::kLastChecks,
     .advice = "The result was sent or cancelled meanwhile; its slot was emptied.", .phrase = result_state},
    {.reason = Reason::kWorkunitDocument, .name = "workunit_document", .progress = Progress::kLastChecks,
     .advice = "workunit.xml_doc is not whole: a column that is too small cuts it. Write it anew, or cancel the workunit.",
     .phrase = cut_document},
    {.reason = Reason::kResultDocument, .name = "result_document", .progress = Progress::kLastChecks,
     .advice = "The result's XML is not whole, or its template or the upload key can't be read. The log says which. Correct the template, and cancel the result.",
     .phrase = cut_document},
    {.reason = Reason::kLookUpLimit, .name = "look_up_limit", .unit = "look-ups", .progress = Progress::kLastChecks,
     .advice = "Jobs of more value used up the request's look-ups and were refused. The reasons beside this one say why.",
     .phrase = [](const Verdict& v) { return fmt::format("after {:g} look-ups in the database", v.value); }},
    {.reason = Reason::kClaimLost, .name = "claim_lost", .progress = Progress::kNoRefusal,
     .advice = "Another scheduler took the slot first. A larger array makes that rarer."},
    {.reason = Reason::kRaceLost, .name = "race_lost", .progress = Progress::kNoRefusal,
     .advice = "Another scheduler changed the row first. The job stays for others."},
    {.reason = Reason::kNotNeeded, .name = "not_needed", .progress = Progress::kNoRefusal,
     .advice = "The request was satisfied by jobs of more value."},
};
// clang-format on

constexpr bool in_order() {
    for (std::size_t i = 0; i < std::size(kRows); ++i)
        if (kRows[i].reason != static_cast<Reason>(i)) return false;
    return std::size(kRows) == static_cast<std::size_t>(Reason::kCount);
}
static_assert(in_order(), "one row for each reason, in the order of verdict.h");

}  // namespace

const ReasonRow& reason_row(Reason reason) { return kRows[static_cast<std::size_t>(reason)]; }
const char* reason_name(Reason reason) { return reason_row(reason).name; }
const char* reason_advice(Reason reason) { return reason_row(reason).advice; }
const char* reason_unit(Reason reason) { return reason_row(reason).unit; }

std::string phrase(const Verdict& v) {
    const ReasonRow& row = reason_row(v.reason);
    return row.phrase ? row.phrase(v) : by_unit(v);
}

std::string bytes_text(double b) {
    if (!std::isfinite(b)) return "unlimited";
    const double a = std::abs(b);
    if (a >= 1e12) return fmt::format("{:.1f} TB", b / 1e12);
    if (a >= 1e9) return fmt::format("{:.1f} GB", b / 1e9);
    if (a >= 1e6) return fmt::format("{:.1f} MB", b / 1e6);
    return a >= 1e3 ? fmt::format("{:.1f} kB", b / 1e3) : fmt::format("{:.0f} bytes", b);
}

std::string duration_text(double s) {
    if (!std::isfinite(s)) return "for ever";
    if (std::abs(s) < 7200) return fmt::format("{:.0f} s", s);
    return std::abs(s) < 2 * 86400 ? fmt::format("{:.1f} h", s / 3600) : fmt::format("{:.1f} d", s / 86400);
}

}  // namespace sluice
