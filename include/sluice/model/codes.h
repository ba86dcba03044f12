// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The codes of BOINC's database and protocol. Values are upstream's.
#include <cstdint>

namespace sluice {

using Id = std::int64_t;  ///< a row's id; upstream's columns are 32 bit, ours read and print 64

/// A transition_time that means "never".
inline constexpr std::int64_t kNever = 2147483647;

enum class ServerState : int { kInactive = 1, kUnsent = 2, kInProgress = 4, kOver = 5 };
enum class Outcome : int {
    kInit = 0,
    kSuccess = 1,
    kCouldntSend = 2,
    kClientError = 3,
    kNoReply = 4,
    kDidntNeed = 5,
    kValidateError = 6,
    kClientDetached = 7
};
enum class ClientState : int {
    kNew = 0,
    kFilesDownloading = 1,
    kFilesDownloaded = 2,
    kComputeError = 3,
    kFilesUploading = 4,
    kFilesUploaded = 5,
    kAborted = 6,
    kUploadFailed = 7
};
enum class ValidateState : int { kInit = 0, kValid = 1, kInvalid = 2, kNoCheck = 3, kInconclusive = 4, kTooLate = 5 };
enum class FileDeleteState : int { kInit = 0, kReady = 1, kDone = 2, kError = 3 };
enum class AssimilateState : int { kInit = 0, kReady = 1, kDone = 2 };

/// Bits of workunit.error_mask.
inline constexpr int kWuCouldntSend = 1, kWuTooManyErrors = 2, kWuTooManySuccess = 4, kWuTooManyTotal = 8,
                     kWuCancelled = 16, kWuNoCanonical = 32;

enum class TransitionerFlags : int { kNormal = 0, kNoTransition = 1, kNoNewResults = 2 };
enum class AssignTarget : int { kNone = 0, kHost = 1, kUser = 2, kTeam = 3 };
enum class BatchState : int { kInit = 0, kInProgress = 1, kComplete = 2, kAborted = 3, kRetired = 4 };

/// Homogeneous redundancy: app.homogeneous_redundancy and <homogeneous_redundancy>.
enum class HrType : int { kNone = 0, kFine = 1, kCoarse = 2 };

/// Exit statuses the server looks at.
inline constexpr int kExitUnstartedLate = 200, kExitAbortedByProject = 202, kExitAbortedViaGui = 203;

/// Processor types, upstream's numbers. app_version ids of anonymous platform are -2 - type.
enum class ProcType : int { kCpu = 0, kNvidia = 1, kAmd = 2, kIntelGpu = 3, kAppleGpu = 4 };
inline constexpr int kProcTypes = 5;
/// "CPU", "NVIDIA", "ATI", "intel_gpu", "apple_gpu": the names of the protocol.
const char* proc_type_name(ProcType type);
/// The same for people: "CPU", "NVIDIA GPU", "AMD/ATI GPU", "Intel GPU", "Apple GPU".
const char* proc_type_user_name(ProcType type);
/// By the first matching substring: cuda, nvidia -> NVIDIA; ati, amd -> AMD; intel_gpu; apple_gpu; else CPU.
ProcType proc_type_of_plan_class(const char* plan_class);

/// Where anonymous-platform versions stand in host_app_version: 1000000*appid - app_version_id (6-, i.e. -2…-6).
inline Id generalized_version_id(Id appid, Id app_version_id) {
    return app_version_id >= 0 ? app_version_id : 1000000 * appid - app_version_id;
}

}  // namespace sluice
