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

struct USER {
    DB_ID_TYPE id;
    int create_time;
    char email_addr[256];
    char name[256];
    char authenticator[256];
    char country[256];
    char postal_code[256];
    double total_credit;
    double expavg_credit;
    double expavg_time;
    char global_prefs[BLOB_SIZE];
    char project_prefs[BLOB_SIZE];
    DB_ID_TYPE teamid;
    char venue[256];
    char url[256];
    bool send_email;
    bool show_hosts;
    int posts;
    int seti_id;
    int seti_nresults;
    int seti_last_result_time;
    double seti_total_cpu;
    char signature[256];
    bool has_profile;
    char cross_project_id[256];
    char passwd_hash[256];
    bool email_validated;
    int donated;

    USER() { clear(); }
    void clear();
};

struct TEAM {
    DB_ID_TYPE id;
    int create_time;
    DB_ID_TYPE userid;
    char name[256];
    char name_lc[256];
    char url[256];
    int type;
    char name_html[256];
    char description[BLOB_SIZE];
    int nusers;
    char country[256];
    double total_credit;
    double expavg_credit;
    double expavg_time;
    int seti_id;
    int ping_user;
    int ping_time;

    TEAM() { clear(); }
    void clear();
};

struct HOST {
    DB_ID_TYPE id;
    int create_time;
    DB_ID_TYPE userid;
    int rpc_seqno;
    int rpc_time;
    double total_credit;
    double expavg_credit;
    double expavg_time;
    int timezone;
    char domain_name[256];
    char serialnum[256];
    char last_ip_addr[256];
    int nsame_ip_addr;
    double on_frac;
    double connected_frac;
    double active_frac;
    double cpu_efficiency;
    double duration_correction_factor;
    int p_ncpus;
    char p_vendor[256];
    char p_model[256];
    double p_fpops;
    double p_iops;
    double p_membw;
    char os_name[256];
    char os_version[256];
    double m_nbytes;
    double m_cache;
    double m_swap;
    double d_total;
    double d_free;
    double d_boinc_used_total;
    double d_boinc_used_project;
    double d_boinc_max;
    double n_bwup;
    double n_bwdown;
    double credit_per_cpu_sec;
    char venue[256];
    int nresults_today;
    double avg_turnaround;
    char host_cpid[256];
    char external_ip_addr[256];
    int _max_results_day;
    double _error_rate;
    char product_name[256];
    double gpu_active_frac;
    int p_ngpus;
    double p_gpu_fpops;
    char misc[BLOB_SIZE];

    HOST() { clear(); }
    void clear();
};

struct AVERAGE {
    double n, avg;

    double get_avg() const { return avg; }
};

struct AVERAGE_VAR {
    double n, avg, var, q;

    double get_avg() const { return avg; }
    double get_var() const { return var; }
};

struct HOST_APP_VERSION {
    DB_ID_TYPE host_id;
    DB_ID_TYPE app_version_id;
    AVERAGE pfc;
    AVERAGE_VAR et;
    int max_jobs_per_day;
    int n_jobs_today;
    AVERAGE_VAR turnaround;
    int consecutive_valid;

    HOST_APP_VERSION() { clear(); }
    void clear();
};
