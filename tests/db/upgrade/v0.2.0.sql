-- SPDX-License-Identifier: LGPL-3.0-or-later
-- The tables sluice_* of a database of release 0.2.0, as that release makes them, with rows of each kind: jobs of two
-- batches are in progress, a gang waits, a host is leased. Load it after db/schema.sql and five workunits.
CREATE TABLE sluice_accel_job (
    workunit_id integer NOT NULL PRIMARY KEY,
    batch_id bigint NOT NULL,
    marked tinyint NOT NULL,
    priority integer NOT NULL,
    lent integer NOT NULL,
    extra integer NOT NULL,
    since integer NOT NULL,
    KEY accel_batch (batch_id)
) ENGINE = InnoDB;
CREATE TABLE sluice_accel_result (
    workunit_id integer NOT NULL,
    result_id integer NOT NULL,
    priority integer NOT NULL,
    PRIMARY KEY (workunit_id, result_id)
) ENGINE = InnoDB;
CREATE TABLE sluice_feeder (
    name varchar(190) NOT NULL PRIMARY KEY,
    kind varchar(190) NOT NULL,
    beat bigint NOT NULL
) ENGINE = InnoDB;
CREATE TABLE sluice_file_group (
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name varbinary(254) NOT NULL,
    idle_since bigint NOT NULL,
    UNIQUE KEY group_name (name),
    KEY group_idle (idle_since)
) ENGINE = InnoDB;
CREATE TABLE sluice_file_group_wu (
    group_id bigint NOT NULL,
    workunitid bigint NOT NULL,
    PRIMARY KEY (group_id, workunitid),
    UNIQUE KEY group_of_wu (workunitid)
) ENGINE = InnoDB;
CREATE TABLE sluice_gang (
    batch_id bigint NOT NULL,
    number bigint NOT NULL,
    size integer NOT NULL,
    ended bigint NOT NULL,
    PRIMARY KEY (batch_id, number)
) ENGINE = InnoDB;
CREATE TABLE sluice_gang_host (
    host_id bigint NOT NULL PRIMARY KEY,
    kept integer NOT NULL,
    lapsed integer NOT NULL
) ENGINE = InnoDB;
CREATE TABLE sluice_gang_job (
    batch_id bigint NOT NULL,
    number bigint NOT NULL,
    member integer NOT NULL,
    workunit_name varchar(191) NOT NULL,
    PRIMARY KEY (batch_id, number, member)
) ENGINE = InnoDB;
CREATE TABLE sluice_gang_lease (
    host_id bigint NOT NULL PRIMARY KEY,
    batch_id bigint NOT NULL,
    number bigint NOT NULL,
    start bigint NOT NULL,
    since bigint NOT NULL,
    lapses integer NOT NULL,
    workunit_id bigint NOT NULL
) ENGINE = InnoDB;
CREATE TABLE sluice_gang_version (
    id integer NOT NULL PRIMARY KEY,
    version bigint NOT NULL
) ENGINE = InnoDB;
CREATE TABLE sluice_gang_wait (
    batch_id bigint NOT NULL,
    number bigint NOT NULL,
    members integer NOT NULL,
    hosts integer NOT NULL,
    since bigint NOT NULL,
    short_since bigint NOT NULL,
    PRIMARY KEY (batch_id, number)
) ENGINE = InnoDB;
CREATE TABLE sluice_host_ltt (
    host_id integer NOT NULL,
    app_version_id integer NOT NULL,
    ltt tinyint NOT NULL,
    ratio double NOT NULL,
    jobs integer NOT NULL,
    PRIMARY KEY (host_id, app_version_id)
) ENGINE = InnoDB;
CREATE TABLE sluice_marks (
    name varchar(40) NOT NULL PRIMARY KEY,
    value bigint NOT NULL
) ENGINE = InnoDB;
CREATE TABLE sluice_plan (
    id tinyint NOT NULL PRIMARY KEY,
    version bigint NOT NULL,
    made_at double NOT NULL,
    batches integer NOT NULL,
    hosts integer NOT NULL
) ENGINE = InnoDB;
CREATE TABLE sluice_plan_batch (
    version bigint NOT NULL,
    batch_id bigint NOT NULL,
    finish double NOT NULL,
    margin double NOT NULL,
    place bigint NOT NULL,
    jobs bigint NOT NULL,
    hosts bigint NOT NULL,
    PRIMARY KEY (version, batch_id)
) ENGINE = InnoDB;
CREATE TABLE sluice_plan_copy (
    workunit_id bigint NOT NULL PRIMARY KEY,
    batch_id bigint NOT NULL,
    result_id bigint NOT NULL,
    made_at bigint NOT NULL,
    KEY copy_batch (batch_id)
) ENGINE = InnoDB;
CREATE TABLE sluice_plan_eta (
    id tinyint NOT NULL PRIMARY KEY,
    least double NOT NULL,
    most double NOT NULL
) ENGINE = InnoDB;
CREATE TABLE sluice_plan_host (
    version bigint NOT NULL,
    host_id bigint NOT NULL,
    errors integer NOT NULL,
    returned integer NOT NULL,
    PRIMARY KEY (version, host_id)
) ENGINE = InnoDB;
CREATE TABLE sluice_plan_job (
    result_id bigint NOT NULL PRIMARY KEY,
    batch_id bigint NOT NULL,
    reissue_at double NOT NULL
) ENGINE = InnoDB;
CREATE TABLE sluice_plan_seen (
    version bigint NOT NULL,
    batch_id bigint NOT NULL,
    newest_batch bigint NOT NULL,
    newest_result bigint NOT NULL,
    PRIMARY KEY (version, batch_id)
) ENGINE = InnoDB;
CREATE TABLE sluice_plan_submission (
    batch_id bigint NOT NULL PRIMARY KEY,
    heard_at double NOT NULL
) ENGINE = InnoDB;
CREATE TABLE sluice_share_batch (
    batch_id bigint NOT NULL PRIMARY KEY,
    user_id integer NOT NULL,
    seconds double NOT NULL,
    start_tag double NOT NULL,
    end_tag double NOT NULL,
    share double NOT NULL,
    place bigint NOT NULL,
    finished tinyint NOT NULL,
    charged double NOT NULL,
    KEY share_open (finished)
) ENGINE = InnoDB;
CREATE TABLE sluice_share_clock (
    id tinyint NOT NULL PRIMARY KEY,
    virtual_time double NOT NULL,
    started tinyint NOT NULL
) ENGINE = InnoDB;
CREATE TABLE sluice_share_day (
    day integer NOT NULL,
    user_id integer NOT NULL,
    operations double NOT NULL,
    PRIMARY KEY (day,user_id)
) ENGINE = InnoDB;
CREATE TABLE sluice_share_lst (
    user_id integer NOT NULL PRIMARY KEY,
    lst double NOT NULL
) ENGINE = InnoDB;
CREATE TABLE sluice_share_measured (
    batch_id bigint NOT NULL PRIMARY KEY,
    operations double NOT NULL
) ENGINE = InnoDB;
CREATE TABLE sluice_share_speed (
    id tinyint NOT NULL PRIMARY KEY,
    flops double NOT NULL
) ENGINE = InnoDB;
CREATE TABLE sluice_share_stream (
    batch_id bigint NOT NULL PRIMARY KEY,
    user_id integer NOT NULL,
    kept double NOT NULL,
    until_time double NOT NULL,
    charged double NOT NULL,
    head double NOT NULL,
    waits tinyint NOT NULL
) ENGINE = InnoDB;
CREATE TABLE sluice_share_user (
    user_id integer NOT NULL PRIMARY KEY,
    quota double NOT NULL
) ENGINE = InnoDB;
CREATE TABLE sluice_host_rpc (
    host_id bigint NOT NULL PRIMARY KEY,
    attempt bigint NOT NULL,
    trickle_bytes bigint NOT NULL DEFAULT 0,
    gang_start bigint NOT NULL DEFAULT 0,
    platforms bigint NOT NULL DEFAULT -1,
    on_since bigint NOT NULL DEFAULT 0
) ENGINE = InnoDB;

INSERT INTO host (id, create_time, userid, rpc_seqno, rpc_time, total_credit, expavg_credit, expavg_time, timezone,
                  nsame_ip_addr, on_frac, connected_frac, active_frac, cpu_efficiency, duration_correction_factor,
                  p_ncpus, p_fpops, p_iops, p_membw, m_nbytes, m_cache, m_swap, d_total, d_free, d_boinc_used_total,
                  d_boinc_used_project, d_boinc_max, n_bwup, n_bwdown, credit_per_cpu_sec, venue, nresults_today,
                  avg_turnaround, max_results_day, product_name, gpu_active_frac, p_ngpus, p_gpu_fpops, misc)
VALUES (71, 1790000000, 1, 4, 1795000000, 0, 0, 1795000000, 0, 1, 1, 1, 1, 1, 1, 4, 1e9, 1e9, 1e9, 8e9, 1e6, 8e9, 1e12,
        5e11, 0, 0, 5e11, 1e6, 1e6, 0, '', 2, 3600, 0, '', 1, 0, 0, '');
UPDATE result SET server_state = 4, hostid = 71, userid = 1, sent_time = 1795000000, report_deadline = 2000000000
WHERE id <= 4;
UPDATE workunit SET batch = 8 WHERE id <= 2;
UPDATE result SET batch = 8 WHERE workunitid <= 2;
UPDATE workunit SET batch = 9 WHERE id IN (3, 4);
UPDATE result SET batch = 9 WHERE workunitid IN (3, 4);

INSERT INTO sluice_accel_job VALUES (1, 8, 1, 5, 2, 1, 1795000000);
INSERT INTO sluice_accel_result VALUES (1, 1, 5);
INSERT INTO sluice_feeder VALUES ('server:/srv/project', 'all', 1795000000);
INSERT INTO sluice_file_group VALUES (1, 'big_file', 1795000000);
INSERT INTO sluice_file_group_wu VALUES (1, 3);
INSERT INTO sluice_gang VALUES (9, 1, 2, 0);
INSERT INTO sluice_gang_job VALUES (9, 1, 0, 'wu_3'), (9, 1, 1, 'wu_4');
INSERT INTO sluice_gang_host VALUES (71, 3, 1);
INSERT INTO sluice_gang_lease VALUES (71, 9, 1, 1795003600, 1795000000, 0, 3);
INSERT INTO sluice_gang_version VALUES (1, 17);
INSERT INTO sluice_gang_wait VALUES (9, 1, 2, 1, 1795000000, 0), (9, 2, 0, 0, 1794000000, 0);
INSERT INTO sluice_host_ltt VALUES (71, 1, 1, 0.5, 12);
INSERT INTO sluice_host_rpc VALUES (71, 4, 0, 0, -1, 0);
INSERT INTO sluice_marks VALUES ('share_clock', 3), ('stream 0', 11), ('batch_floor', 7);
INSERT INTO sluice_plan VALUES (1, 5, 1795000000, 1, 1);
INSERT INTO sluice_plan_batch VALUES (5, 8, 1795009000, 600, 1, 2, 1);
INSERT INTO sluice_plan_copy VALUES (2, 8, 2, 1795000000);
INSERT INTO sluice_plan_eta VALUES (1, 1795009000, 1795019000);
INSERT INTO sluice_plan_host VALUES (5, 71, 0, 9);
INSERT INTO sluice_plan_job VALUES (1, 8, 1795008000);
INSERT INTO sluice_plan_seen VALUES (5, 8, 9, 4);
INSERT INTO sluice_plan_submission VALUES (8, 1795000000);
INSERT INTO sluice_share_batch VALUES (8, 1, 1000, 0, 1000, 1, 1, 0, 400);
INSERT INTO sluice_share_clock VALUES (1, 250, 1);
INSERT INTO sluice_share_day VALUES (20775, 1, 1e15);
INSERT INTO sluice_share_lst VALUES (1, 0.25);
INSERT INTO sluice_share_measured VALUES (8, 1e12);
INSERT INTO sluice_share_speed VALUES (1, 1e10);
INSERT INTO sluice_share_stream VALUES (0, 1, 5, 1795000000, 2, 0, 0);
INSERT INTO sluice_share_user VALUES (1, 2);
