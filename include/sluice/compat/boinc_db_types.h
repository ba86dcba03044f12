// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Rows of the database as upstream's structures have them: text in arrays, cut to what fits. Each names its columns.
#include "common_defs.h"
#include "parse.h"

typedef long DB_ID_TYPE;

#define BLOB_SIZE 65536
#define MAX_SIZE_CLASSES 10

struct APP {
    DB_ID_TYPE id;
    int create_time;
    char name[256];
    int min_version;
    bool deprecated;
    char user_friendly_name[256];
    int homogeneous_redundancy;
    double weight;
    bool beta;
    int target_nresults;
    double min_avg_pfc;
    bool host_scale_check;
    bool homogeneous_app_version;
    bool non_cpu_intensive;
    int locality_scheduling;
    int n_size_classes;
    bool fraction_done_exact;

    APP() { clear(); }
    void clear();
};

// workunit.file_delete_state and result.file_delete_state
#define FILE_DELETE_INIT 0
#define FILE_DELETE_READY 1
#define FILE_DELETE_DONE 2
#define FILE_DELETE_ERROR 3

// workunit.assimilate_state
#define ASSIMILATE_INIT 0
#define ASSIMILATE_READY 1
#define ASSIMILATE_DONE 2

// bits of workunit.error_mask
#define WU_ERROR_COULDNT_SEND_RESULT 1
#define WU_ERROR_TOO_MANY_ERROR_RESULTS 2
#define WU_ERROR_TOO_MANY_SUCCESS_RESULTS 4
#define WU_ERROR_TOO_MANY_TOTAL_RESULTS 8
#define WU_ERROR_CANCELLED 16
#define WU_ERROR_NO_CANONICAL_RESULT 32

struct WORKUNIT {
    DB_ID_TYPE id;
    int create_time;
    DB_ID_TYPE appid;
    char name[256];
    char xml_doc[BLOB_SIZE];
    int batch;
    double rsc_fpops_est;
    double rsc_fpops_bound;
    double rsc_memory_bound;
    double rsc_disk_bound;
    bool need_validate;
    DB_ID_TYPE canonical_resultid;
    double canonical_credit;
    int transition_time;
    int delay_bound;
    int error_mask;
    int file_delete_state;
    int assimilate_state;
    int hr_class;
    double opaque;
    int min_quorum;
    int target_nresults;
    int max_error_results;
    int max_total_results;
    int max_success_results;
    char result_template_file[64];
    int priority;
    char mod_time[20];
    double rsc_bandwidth_bound;
    DB_ID_TYPE fileset_id;
    DB_ID_TYPE app_version_id;
    int transitioner_flags;
    int size_class;
    char keywords[256];
    int app_version_num;

    WORKUNIT() { clear(); }
    void clear();
};

// result.server_state
#define RESULT_SERVER_STATE_INACTIVE 1
#define RESULT_SERVER_STATE_UNSENT 2
#define RESULT_SERVER_STATE_IN_PROGRESS 4
#define RESULT_SERVER_STATE_OVER 5

// result.outcome
#define RESULT_OUTCOME_INIT 0
#define RESULT_OUTCOME_SUCCESS 1
#define RESULT_OUTCOME_COULDNT_SEND 2
#define RESULT_OUTCOME_CLIENT_ERROR 3
#define RESULT_OUTCOME_NO_REPLY 4
#define RESULT_OUTCOME_DIDNT_NEED 5
#define RESULT_OUTCOME_VALIDATE_ERROR 6
#define RESULT_OUTCOME_CLIENT_DETACHED 7

// result.validate_state
#define VALIDATE_STATE_INIT 0
#define VALIDATE_STATE_VALID 1
#define VALIDATE_STATE_INVALID 2
#define VALIDATE_STATE_NO_CHECK 3
#define VALIDATE_STATE_INCONCLUSIVE 4
#define VALIDATE_STATE_TOO_LATE 5

// result.app_version_id of an anonymous platform
#define ANON_PLATFORM_UNKNOWN (-1)
#define ANON_PLATFORM_CPU (-2)
#define ANON_PLATFORM_NVIDIA (-3)
#define ANON_PLATFORM_ATI (-4)
#define ANON_PLATFORM_INTEL_GPU (-5)
#define ANON_PLATFORM_APPLE_GPU (-6)

struct RESULT {
    DB_ID_TYPE id;
    int create_time;
    DB_ID_TYPE workunitid;
    int server_state;
    int outcome;
    int client_state;
    DB_ID_TYPE hostid;
    DB_ID_TYPE userid;
    int report_deadline;
    int sent_time;
    int received_time;
    char name[256];
    double cpu_time;
    char xml_doc_in[BLOB_SIZE];
    char xml_doc_out[BLOB_SIZE];
    char stderr_out[BLOB_SIZE];
    int batch;
    int file_delete_state;
    int validate_state;
    double claimed_credit;
    double granted_credit;
    double opaque;
    int random;
    int app_version_num;
    DB_ID_TYPE appid;
    int exit_status;
    DB_ID_TYPE teamid;
    int priority;
    char mod_time[20];
    double elapsed_time;
    double flops_estimate;
    DB_ID_TYPE app_version_id;
    bool runtime_outlier;
    int size_class;
    double peak_working_set_size;
    double peak_swap_size;
    double peak_disk_usage;

    RESULT() { clear(); }
    void clear();
};
