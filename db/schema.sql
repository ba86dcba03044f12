-- SPDX-License-Identifier: LGPL-3.0-or-later
-- The database of a project. Same tables, columns, types and keys as upstream BOINC's at db_revision 27032, so that
-- either side's programs run on a database that the other made. The order of columns is part of the contract:
-- upstream reads "select *" by position. New columns go to the end of their table.
--
--   create database NAME character set utf8mb4 collate utf8mb4_unicode_ci;
--   mysql NAME < schema.sql
--
-- Times are UNIX seconds unless said otherwise. Text keys are at most 191 characters, so that utf8mb4 fits an index.

-- Operating system and processor of a client, by the name that it sends.
create table platform (
    id                 integer      not null auto_increment,
    create_time        integer      not null,
    name               varchar(191) not null,
    user_friendly_name varchar(254) not null,
    deprecated         tinyint      not null default 0,
    primary key (id),
    unique (name)
) engine = InnoDB;

-- An application. n_size_classes counts job sizes when above 1; with batch acceleration 1 means accelerable.
create table app (
    id                      integer      not null auto_increment,
    create_time             integer      not null,
    name                    varchar(191) not null,
    min_version             integer      not null default 0,
    deprecated              smallint     not null default 0,
    user_friendly_name      varchar(254) not null,
    homogeneous_redundancy  smallint     not null default 0,
    weight                  double       not null default 1,
    beta                    smallint     not null default 0,
    target_nresults         smallint     not null default 0,
    min_avg_pfc             double       not null default 1,
    host_scale_check        tinyint      not null default 0,
    homogeneous_app_version tinyint      not null default 0,
    non_cpu_intensive       tinyint      not null default 0,
    locality_scheduling     integer      not null default 0,
    n_size_classes          smallint     not null default 0,
    fraction_done_exact     tinyint      not null default 0,
    primary key (id),
    unique (name)
) engine = InnoDB;

-- A program of an application for one platform and plan class; xml_doc goes to the client as it stands.
create table app_version (
    id               integer      not null auto_increment,
    create_time      integer      not null,
    appid            integer      not null,
    version_num      integer      not null,
    platformid       integer      not null,
    xml_doc          mediumblob,
    min_core_version integer      not null default 0,
    max_core_version integer      not null default 0,
    deprecated       tinyint      not null default 0,
    plan_class       varchar(128) not null default '',
    pfc_n            double       not null default 0,
    pfc_avg          double       not null default 0,
    pfc_scale        double       not null default 0,
    expavg_credit    double       not null default 0,
    expavg_time      double       not null default 0,
    beta             tinyint      not null default 0,
    primary key (id),
    unique apvp (appid, platformid, version_num, plan_class)
) engine = InnoDB;

-- A volunteer or job submitter. seti_id: nonzero = only own jobs on own hosts.
create table user (
    id                     integer      not null auto_increment,
    create_time            integer      not null,
    email_addr             varchar(191) not null,
    name                   varchar(191),
    authenticator          varchar(191),
    country                varchar(254),
    postal_code            varchar(254),
    total_credit           double       not null,
    expavg_credit          double       not null,
    expavg_time            double       not null,
    global_prefs           blob,
    project_prefs          blob,
    teamid                 integer      not null,
    venue                  varchar(254) not null,
    url                    varchar(254),
    send_email             smallint     not null,
    show_hosts             smallint     not null,
    posts                  smallint     not null,
    seti_id                integer      not null,
    seti_nresults          integer      not null,
    seti_last_result_time  integer      not null,
    seti_total_cpu         double       not null,
    signature              varchar(254),
    has_profile            smallint     not null,
    cross_project_id       varchar(254) not null,
    passwd_hash            varchar(254) not null,
    email_validated        smallint     not null,
    donated                smallint     not null,
    login_token            char(32)     not null default '',
    login_token_time       double       not null default 0,
    previous_email_addr    varchar(254) not null default '',
    email_addr_change_time double       not null default 0,
    primary key (id),
    unique (email_addr),
    unique (authenticator),
    unique (name),
    key ind_tid (teamid),
    key user_tot (total_credit desc),
    key user_avg (expavg_credit desc),
    key user_email_time (email_addr_change_time)
) engine = InnoDB;

create table team (
    id            integer          not null auto_increment,
    create_time   integer          not null,
    userid        integer          not null,
    name          varchar(191)     not null,
    name_lc       varchar(254),
    url           varchar(254),
    type          integer          not null,
    name_html     varchar(254),
    description   text,
    nusers        integer          not null,
    country       varchar(254),
    total_credit  double           not null default 0,
    expavg_credit double           not null default 0,
    expavg_time   double           not null,
    seti_id       integer          not null default 0,
    ping_user     integer          not null default 0,
    ping_time     integer unsigned not null default 0,
    joinable      tinyint          not null default 1,
    mod_time      timestamp        default current_timestamp on update current_timestamp,
    primary key (id),
    unique (name),
    fulltext key team_name_desc (name, description),
    key team_avg (expavg_credit desc),
    key team_tot (total_credit desc),
    key team_userid (userid)
) engine = InnoDB;

-- A computer. error_rate: above 0 = low turnaround time. max_results_day: -1 = banned.
create table host (
    id                         integer      not null auto_increment,
    create_time                integer      not null,
    userid                     integer      not null,
    rpc_seqno                  integer      not null,
    rpc_time                   integer      not null,
    total_credit               double       not null,
    expavg_credit              double       not null,
    expavg_time                double       not null,
    timezone                   integer      not null,
    domain_name                varchar(254),
    serialnum                  varchar(254),
    last_ip_addr               varchar(254),
    nsame_ip_addr              integer      not null,
    on_frac                    double       not null,
    connected_frac             double       not null,
    active_frac                double       not null,
    cpu_efficiency             double       not null,
    duration_correction_factor double       not null,
    p_ncpus                    integer      not null,
    p_vendor                   varchar(254),
    p_model                    varchar(254),
    p_fpops                    double       not null,
    p_iops                     double       not null,
    p_membw                    double       not null,
    os_name                    varchar(254),
    os_version                 varchar(254),
    m_nbytes                   double       not null,
    m_cache                    double       not null,
    m_swap                     double       not null,
    d_total                    double       not null,
    d_free                     double       not null,
    d_boinc_used_total         double       not null,
    d_boinc_used_project       double       not null,
    d_boinc_max                double       not null,
    n_bwup                     double       not null,
    n_bwdown                   double       not null,
    credit_per_cpu_sec         double       not null,
    venue                      varchar(254) not null,
    nresults_today             integer      not null,
    avg_turnaround             double       not null,
    host_cpid                  varchar(254),
    external_ip_addr           varchar(254),
    max_results_day            integer      not null,
    error_rate                 double       not null default 0,
    product_name               varchar(254) not null,
    gpu_active_frac            double       not null,
    p_ngpus                    integer      not null,
    p_gpu_fpops                double       not null,
    misc                       text         not null /*M!100201 default ('') */ /*!80013 default ('') */,
    primary key (id),
    key host_userid_cpid (userid, host_cpid),
    key host_domain_name (domain_name),
    key host_avg (expavg_credit desc),
    key host_tot (total_credit desc)
) engine = InnoDB;

-- Statistics and quota of one application version on one host; anonymous-platform versions have the id
-- 1000000 * app id + 2 (CPU) ... 6 (Apple GPU).
create table host_app_version (
    host_id           integer not null,
    app_version_id    integer not null,
    pfc_n             double  not null,
    pfc_avg           double  not null,
    et_n              double  not null,
    et_avg            double  not null,
    et_var            double  not null,
    et_q              double  not null,
    max_jobs_per_day  integer not null,
    n_jobs_today      integer not null,
    turnaround_n      double  not null,
    turnaround_avg    double  not null,
    turnaround_var    double  not null,
    turnaround_q      double  not null,
    consecutive_valid integer not null,
    unique hap (host_id, app_version_id)
) engine = InnoDB;

-- A job. transition_time: when the transitioner looks next; 2147483647 = never.
create table workunit (
    id                   integer      not null auto_increment,
    create_time          integer      not null,
    appid                integer      not null,
    name                 varchar(191) not null,
    xml_doc              blob,
    batch                integer      not null,
    rsc_fpops_est        double       not null,
    rsc_fpops_bound      double       not null,
    rsc_memory_bound     double       not null,
    rsc_disk_bound       double       not null,
    need_validate        smallint     not null,
    canonical_resultid   integer      not null,
    canonical_credit     double       not null,
    transition_time      integer      not null,
    delay_bound          integer      not null,
    error_mask           integer      not null,
    file_delete_state    integer      not null,
    assimilate_state     integer      not null,
    hr_class             integer      not null,
    opaque               double       not null,
    min_quorum           integer      not null,
    target_nresults      integer      not null,
    max_error_results    integer      not null,
    max_total_results    integer      not null,
    max_success_results  integer      not null,
    result_template_file varchar(63)  not null,
    priority             integer      not null,
    mod_time             timestamp    default current_timestamp on update current_timestamp,
    rsc_bandwidth_bound  double       not null,
    fileset_id           integer      not null,
    app_version_id       integer      not null,
    transitioner_flags   tinyint      not null,
    size_class           smallint     not null default -1,
    keywords             varchar(254) not null,
    app_version_num      integer      not null,
    primary key (id),
    unique (name),
    key wu_val (appid, need_validate),
    key wu_timeout (transition_time),
    key wu_filedel (file_delete_state),
    key wu_assim (appid, assimilate_state),
    key wu_batch (batch)
) engine = InnoDB;

-- An instance of a job. server_state: 1 inactive, 2 unsent, 4 in progress, 5 over.
create table result (
    id                    integer      not null auto_increment,
    create_time           integer      not null,
    workunitid            integer      not null,
    server_state          integer      not null,
    outcome               integer      not null,
    client_state          integer      not null,
    hostid                integer      not null,
    userid                integer      not null,
    report_deadline       integer      not null,
    sent_time             integer      not null,
    received_time         integer      not null,
    name                  varchar(191) not null,
    cpu_time              double       not null,
    xml_doc_in            blob,
    xml_doc_out           blob,
    stderr_out            blob,
    batch                 integer      not null,
    file_delete_state     integer      not null,
    validate_state        integer      not null,
    claimed_credit        double       not null,
    granted_credit        double       not null,
    opaque                double       not null,
    random                integer      not null,
    app_version_num       integer      not null,
    appid                 integer      not null,
    exit_status           integer      not null,
    teamid                integer      not null,
    priority              integer      not null,
    mod_time              timestamp    default current_timestamp on update current_timestamp,
    elapsed_time          double       not null,
    flops_estimate        double       not null,
    app_version_id        integer      not null,
    runtime_outlier       tinyint      not null,
    size_class            smallint     not null default -1,
    peak_working_set_size double       not null,
    peak_swap_size        double       not null,
    peak_disk_usage       double       not null,
    primary key (id),
    unique (name),
    key res_wuid (workunitid),
    key ind_res_st (server_state, priority),
    key res_app_state (appid, server_state),
    key res_filedel (file_delete_state),
    key res_userid_id (userid, id desc),
    key res_userid_val (userid, validate_state),
    key res_hostid_id (hostid, id desc),
    key res_batch (batch)
) engine = InnoDB;

-- A group of jobs. expire_time: an expiry date, or the median turnaround time in seconds (batch_stats).
create table batch (
    id                  serial       primary key,
    user_id             integer      not null,
    create_time         integer      not null,
    logical_start_time  double       not null,
    logical_end_time    double       not null,
    est_completion_time double       not null,
    njobs               integer      not null,
    fraction_done       double       not null,
    nerror_jobs         integer      not null,
    state               integer      not null,
    completion_time     double       not null,
    credit_estimate     double       not null,
    credit_canonical    double       not null,
    credit_total        double       not null,
    name                varchar(255) not null,
    app_id              integer      not null,
    project_state       integer      not null,
    description         varchar(255) not null,
    expire_time         double       not null
) engine = InnoDB;

-- Who may submit jobs, and with which share.
create table user_submit (
    user_id              integer not null,
    quota                double  not null,
    logical_start_time   double  not null,
    submit_all           tinyint not null,
    manage_all           tinyint not null,
    max_jobs_in_progress integer not null,
    primary key (user_id)
) engine = InnoDB;

create table user_submit_app (
    user_id integer not null,
    app_id  integer not null,
    manage  tinyint not null,
    primary key (user_id, app_id)
) engine = InnoDB;

-- Input files that were staged for remote submission.
create table job_file (
    id          integer      not null auto_increment,
    name        varchar(191) not null,
    create_time double       not null,
    delete_time double       not null,
    primary key (id),
    unique jf_name (name)
) engine = InnoDB;

-- Jobs meant for one host, user, team or everybody.
create table assignment (
    id          integer not null auto_increment,
    create_time integer not null,
    target_id   integer not null,
    target_type integer not null,
    multi       tinyint not null,
    workunitid  integer not null,
    resultid    integer not null,
    primary key (id),
    key asgn_target (target_type, target_id)
) engine = InnoDB;

-- Trickle-up messages.
create table msg_from_host (
    id          integer      not null auto_increment,
    create_time integer      not null,
    hostid      integer      not null,
    variety     varchar(254) not null,
    handled     smallint     not null,
    xml         mediumtext,
    primary key (id),
    key message_handled (handled),
    key message_hostid (hostid)
) engine = InnoDB;

-- Trickle-down messages.
create table msg_to_host (
    id          integer      not null auto_increment,
    create_time integer      not null,
    hostid      integer      not null,
    variety     varchar(254) not null,
    handled     smallint     not null,
    xml         mediumtext,
    primary key (id),
    key msg_to_host (hostid, handled)
) engine = InnoDB;

-- workunitid holds (bigint) workunit.opaque.
create table credited_job (
    userid     integer not null,
    workunitid bigint  not null,
    key credited_job_user (userid),
    key credited_job_wu (workunitid),
    unique credited_job_user_wu (userid, workunitid)
) engine = InnoDB;

-- Credit of a user by application.
create table credit_user (
    userid      integer not null,
    appid       integer not null,
    njobs       integer not null,
    total       double  not null,
    expavg      double  not null,
    expavg_time double  not null,
    credit_type integer not null,
    primary key (userid, appid, credit_type),
    key cu_total (appid, total),
    key cu_avg (appid, expavg)
) engine = InnoDB;

create table credit_team (
    teamid      integer not null,
    appid       integer not null,
    njobs       integer not null,
    total       double  not null,
    expavg      double  not null,
    expavg_time double  not null,
    credit_type integer not null,
    primary key (teamid, appid, credit_type),
    key ct_total (appid, total),
    key ct_avg (appid, expavg)
) engine = InnoDB;

-- What became of accounts and hosts that were deleted.
create table user_deleted (
    userid                  integer      not null,
    public_cross_project_id varchar(254) not null,
    create_time             double       not null,
    primary key (userid),
    key user_deleted_create (create_time)
) engine = InnoDB;

create table host_deleted (
    hostid                  integer      not null,
    public_cross_project_id varchar(254) not null,
    create_time             double       not null,
    primary key (hostid),
    key host_deleted_create (create_time)
) engine = InnoDB;

-- Kinds of consent that a volunteer can give.
create table consent_type (
    id               integer      not null auto_increment,
    shortname        varchar(191) not null,
    description      varchar(255) not null,
    enabled          integer      not null,
    project_specific integer      not null,
    privacypref      integer      not null,
    primary key (id),
    key consent_name (shortname)
) engine = InnoDB;

-- Each consent given or withdrawn; latest_consent shows what holds.
create table consent (
    id                   integer      not null auto_increment,
    userid               integer      not null,
    consent_type_id      integer      not null,
    consent_time         integer      not null,
    consent_flag         tinyint      not null,
    consent_not_required tinyint      not null,
    source               varchar(255) not null,
    primary key (id),
    key userid_ctid_timestamp (userid, consent_type_id, consent_time),
    key consent_timestamp (consent_time),
    key flag_ctid (consent_flag, consent_type_id),
    foreign key (consent_type_id) references consent_type (id) on update cascade on delete restrict
) engine = InnoDB;

-- Joining and leaving of teams.
create table team_delta (
    userid       integer not null,
    teamid       integer not null,
    timestamp    integer not null,
    joining      tinyint not null,
    total_credit double  not null,
    key team_delta_teamid (teamid, timestamp),
    key team_delta_userid (userid)
) engine = InnoDB;

-- Short-lived secrets of the web site.
create table token (
    token       varchar(64) not null,
    userid      integer     not null,
    type        char        not null,
    create_time integer     not null,
    expire_time integer,
    primary key (token),
    key token_userid (userid)
) engine = InnoDB;

-- What holds of a user's consents: the newest row of each kind.
create view latest_consent as
    select given.userid, given.consent_type_id, given.consent_flag
    from consent as given
    left join consent as newer
        on newer.userid = given.userid and newer.consent_type_id = given.consent_type_id
        and (newer.consent_time > given.consent_time or (newer.consent_time = given.consent_time and newer.id > given.id))
    where newer.id is null;

insert into consent_type (shortname, description, enabled, project_specific, privacypref) values
    ('ENROLL', 'The volunteer agreed to the terms of use when the account was made.', 0, 0, 0),
    ('STATSEXPORT', 'The volunteer agrees that statistics of the account are given to other sites.', 0, 0, 1);
