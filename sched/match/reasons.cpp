// The names of reasons, their units, and what an admin can do about each.
#include <iterator>

#include "sluice/match/verdict.h"

namespace sluice {
namespace {

struct ReasonText {
    Reason reason;
    const char* name;
    const char* unit;
    const char* advice;
};

const ReasonText kTexts[] = {
    {Reason::kFeasible, "feasible", "", "Nothing to do: the job can be sent."},
    {Reason::kNoSuchApp, "no_such_app", "",
     "The job's app is deprecated or new: un-deprecate it, or touch reread_db so that the feeder reads the app table."},
    {Reason::kNoAppVersion, "no_app_version", "",
     "Release a version of the app for the host's platforms (update_versions) and touch reread_db."},
    {Reason::kAppNotSelected, "app_not_selected", "",
     "The volunteer did not select this app and does not allow others; nothing to do, or ask volunteers."},
    {Reason::kBetaNotAllowed, "beta_not_allowed", "",
     "Only volunteers who run test applications get this app; clear app.beta or the version's beta flag to release it."},
    {Reason::kUserFilter, "user_filter", "",
     "<user_filter> makes workunit.batch the id of the only user allowed; unset it or submit the job with batch 0."},
    {Reason::kHrClassUnknown, "hr_class_unknown", "",
     "Homogeneous redundancy can't place this host; compat_level 1 knows more systems, coarse classes (type 2) more hosts."},
    {Reason::kHrClassMismatch, "hr_class_mismatch", "",
     "The workunit waits for hosts of another class; feeder --purge_stale frees jobs whose class never calls, and "
     "<hr_allocate_slots> keeps room for every class."},
    {Reason::kAppVersionMismatch, "app_version_mismatch", "",
     "The workunit is pinned or committed to a version that this host can't run; release it for the platform or unpin."},
    {Reason::kMemory, "memory", "bytes",
     "Lower rsc_memory_bound if it is generous; else only hosts with more memory, or higher preferences, can run the job."},
    {Reason::kDisk, "disk", "bytes",
     "Lower rsc_disk_bound if it is generous; the host's disk preferences leave less than that."},
    {Reason::kBandwidth, "bandwidth", "bytes/s", "Lower rsc_bandwidth_bound: the host's download speed is below it."},
    {Reason::kKeywordRefused, "keyword_refused", "", "The volunteer said no to one of the job's keywords."},
    {Reason::kNeedsReliable, "needs_reliable", "",
     "The job is a retry for reliable hosts; raise reliable_on_priority or reliable_max_avg_turnaround if none is left."},
    {Reason::kReservedForLtt, "reserved_for_ltt", "s",
     "Accelerated jobs wait for low-turnaround hosts; set ltt_reserve_timeout to let others have them after a while."},
    {Reason::kNonCpuIntensive, "non_cpu_intensive", "",
     "Jobs of non-CPU-intensive apps are sent one per host in a pass of their own."},
    {Reason::kResourceNotWanted, "resource_not_wanted", "",
     "The host asked for no work of the resource that this app's versions use."},
    {Reason::kClientTooOld, "client_too_old", "",
     "The version or its plan class asks for a newer client; lower min_core_version if that is not needed."},
    {Reason::kClientTooNew, "client_too_new", "", "Raise max_core_version of the version or its plan class."},
    {Reason::kNoPlanClassSupport, "no_plan_class_support", "",
     "The client is too old for versions that use anything but one CPU; release a version without plan class."},
    {Reason::kPlanClassRefused, "plan_class_refused", "",
     "The plan class is unknown, refused as wrong (see the log), or does not accept this host's model or preferences."},
    {Reason::kGpuRefusedByPrefs, "gpu_refused_by_prefs", "", "The volunteer allows no work for this kind of GPU."},
    {Reason::kCpuRefusedByPrefs, "cpu_refused_by_prefs", "", "The volunteer allows no CPU work for this project."},
    {Reason::kCustomHook, "custom_hook", "",
     "The plan class takes only certain workunits, batches or users (min_wu_id … max_batch, user_id)."},
    {Reason::kGpuMissing, "gpu_missing", "", "The host has no GPU of the plan class's type."},
    {Reason::kGpuMemory, "gpu_memory", "bytes", "Lower the plan class's min_gpu_ram_mb if it is generous."},
    {Reason::kGpuDriver, "gpu_driver", "",
     "The GPU's driver or runtime is older (or newer) than the plan class demands; volunteers can update it."},
    {Reason::kGpuCapability, "gpu_capability", "",
     "The GPU lacks a capability the plan class demands (compute capability, double precision, speed)."},
    {Reason::kOpenclMissing, "opencl_missing", "",
     "The device offers no OpenCL, or an older one than the plan class demands."},
    {Reason::kVirtualBox, "virtualbox", "",
     "VirtualBox is missing, unusable, excluded or outside the plan class's versions."},
    {Reason::kDocker, "docker", "", "Docker, or a WSL distribution with it, is missing or switched off on the host."},
    {Reason::kCpuFeature, "cpu_feature", "",
     "The processor lacks an instruction set (or virtualisation) of the plan class; release a version without it."},
    {Reason::kOsVersion, "os_version", "", "The host's system or C library is outside the plan class's versions."},
    {Reason::kCpuCount, "cpu_count", "", "The host may use fewer CPUs than the plan class's min_ncpus."},
    {Reason::kDeadline, "deadline", "s",
     "The host would be late: raise delay_bound, make jobs smaller, or use size classes so that it gets small ones."},
    {Reason::kDeadlineOthers, "deadline_others", "s",
     "The job would make another job on the host late; raise delay_bound."},
    {Reason::kDiskSet, "disk_set", "bytes",
     "The jobs of this reply use up the host's disk; it gets more when they are done."},
    {Reason::kMemorySet, "memory_set", "bytes", "The jobs that run together use up the host's memory."},
    {Reason::kOneInstancePerWorkunit, "one_instance_per_workunit", "",
     "Another instance of the workunit is in the same reply; other hosts take this one."},
    {Reason::kInProgressLimit, "in_progress_limit", "jobs",
     "Raise the project's limit: <max_wus_in_progress> or <max_wus_in_progress_gpu> in config.xml, or <max_jobs_in_progress> in "
     "config_aux.xml."},
    {Reason::kAppInProgressLimit, "app_in_progress_limit", "jobs",
     "Raise the app's limit in <max_jobs_in_progress> of config_aux.xml."},
    {Reason::kDailyQuota, "daily_quota", "jobs",
     "The host used up its jobs for today, often after errors; raise daily_result_quota or see why its jobs fail."},
    {Reason::kJobsPerRpcLimit, "jobs_per_rpc_limit", "jobs",
     "Raise max_wus_to_send (per CPU) to send more in one reply."},
    {Reason::kUserJobLimit, "user_job_limit", "jobs", "The volunteer limits jobs in progress (preference max_jobs)."},
    {Reason::kOneResultPerUser, "one_result_per_user", "results",
     "The volunteer has an instance of this workunit; with few volunteers use one_result_per_host_per_wu instead."},
    {Reason::kOneResultPerHost, "one_result_per_host", "results",
     "The host has an instance of this workunit; others take it."},
    {Reason::kHrCommittedElsewhere, "hr_committed_elsewhere", "",
     "Another host committed the workunit to its class since the feeder put it here."},
    {Reason::kVersionCommittedElsewhere, "version_committed_elsewhere", "",
     "Another host committed the workunit to its app version since the feeder put it here."},
    {Reason::kWorkunitError, "workunit_error", "", "The workunit was cancelled or failed; its slot was emptied."},
    {Reason::kWorkunitDone, "workunit_done", "", "The workunit has a canonical result; its slot was emptied."},
    {Reason::kResultGone, "result_gone", "", "The result was sent or cancelled meanwhile; its slot was emptied."},
    {Reason::kLookUpLimit, "look_up_limit", "look-ups",
     "Not asked about: jobs of more value used up the request's look-ups and were refused; the reasons beside this one say why."},
    {Reason::kClaimLost, "claim_lost", "", "Another scheduler took the slot first; a larger array makes that rarer."},
    {Reason::kRaceLost, "race_lost", "", "Another scheduler changed the row first; the job stays for others."},
    {Reason::kNotNeeded, "not_needed", "", "The request was satisfied by jobs of more value."},
};
static_assert(std::size(kTexts) == static_cast<std::size_t>(Reason::kCount));

const ReasonText& text_of(Reason reason) {
    for (const ReasonText& t : kTexts)
        if (t.reason == reason) return t;
    return kTexts[0];
}

}  // namespace

const char* reason_name(Reason reason) { return text_of(reason).name; }
const char* reason_advice(Reason reason) { return text_of(reason).advice; }
const char* reason_unit(Reason reason) { return text_of(reason).unit; }

}  // namespace sluice
