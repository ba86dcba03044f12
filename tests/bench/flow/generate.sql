-- A project in full flow, made by the server itself: no file of rows, and the same rows each time. The runner first fills the
-- table numbers (n = 0, 1, 2 …) and sets @batches, @jobs (of a batch), @hosts, @inactive, @plain. With 1000, 800, 100000,
-- 100000, 100000: one million results, a hundred thousand hosts, a million host_app_versions.
--   app 1: batches, no size classes. 8 in 10 batches are complete; of the others every fifth is almost done, the rest half.
--   app 2: three size classes, @inactive INACTIVE results.
--   app 3: @plain UNSENT results that belong to no batch.
set @now = unix_timestamp();
set unique_checks = 0;
set sql_mode = '';

insert into platform (create_time, name, user_friendly_name) values (1, 'x86_64-pc-linux-gnu', 'Linux');
insert into app (id, create_time, name, user_friendly_name, weight, min_avg_pfc, n_size_classes)
  select n, 1, concat('app', n), concat('App ', n), 1, 1, if(n = 2, 3, 0) from numbers where n between 1 and 3;
insert into app_version (id, create_time, appid, version_num, platformid, plan_class, pfc_n, pfc_avg, pfc_scale)
  select n, 1, 1 + (n - 1) % 3, 100, 1, concat('c', n), 1000, 1, 1 from numbers where n between 1 and 10;

insert into host (id, create_time, userid, rpc_time, total_credit, expavg_credit, expavg_time, domain_name, on_frac, connected_frac,
                  active_frac, duration_correction_factor, p_ncpus, p_fpops, os_name, m_nbytes, d_total, d_free, avg_turnaround,
                  host_cpid, gpu_active_frac, misc)
  select n, @now - 864000, n, @now - 3600, 1000, n % 500, @now, concat('host', n), 0.5 + (n % 50) / 100, 1, 0.9, 1, 8,
         1e9 + (n % 1000) * 1e7, 'Linux', 1.6e10, 1e12, 5e11, 86400, md5(n), 0.8, repeat('m', 300)
  from numbers where n between 1 and @hosts;

insert into host_app_version (host_id, app_version_id, pfc_n, pfc_avg, et_n, et_avg, max_jobs_per_day, turnaround_n, turnaround_avg,
                              consecutive_valid)
  select 1 + n div 10, 1 + n % 10, 20, 1, 20, 1e-9 * (1 + (n * 2654435761 & 4095) / 256), 100, 20, 86400, 20
  from numbers where n < @hosts * 10;

-- Batch b was made b/@batches of the last 29 days after their start.
insert into batch (id, user_id, create_time, njobs, fraction_done, state, name, app_id, description)
  select n, 1, @now - 29 * 86400 + floor(n / @batches * 28 * 86400), @jobs, 0, if(n <= 0.8 * @batches, 2, 1), concat('batch', n), 1, ''
  from numbers where n between 1 and @batches;

-- One job in `done_of` is open; d: deterministic noise.
create temporary table jobs (id int primary key, batch int, host int, d int, open int, made int) engine = memory;
delimiter //
create procedure make_jobs(first_batch int, last_batch int)
begin
  truncate jobs;
  insert into jobs
    select 1 + n, 1 + n div @jobs, 1 + (n * 2654435761 & 4294967295) % @hosts, (n * 40503 & 65535),
           if(1 + n div @jobs <= 0.8 * @batches, 0,
              if((1 + n div @jobs) % 5 = 0, n % @jobs >= 0.95 * @jobs, n % @jobs >= 0.5 * @jobs)),
           @now - 29 * 86400 + floor((1 + n div @jobs) / @batches * 28 * 86400)
    from numbers where n >= (first_batch - 1) * @jobs and n < last_batch * @jobs;
  insert into workunit (id, create_time, appid, name, xml_doc, batch, rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound,
                        canonical_resultid, canonical_credit, transition_time, delay_bound, assimilate_state, min_quorum,
                        target_nresults, max_error_results, max_total_results, max_success_results, result_template_file, keywords)
    select id, made, 1, concat('wu_', id), concat('<workunit>', repeat('x', 280), '</workunit>'), batch, 1e13, 1e15, 1e8, 1e8, if(open, 0, id), 100,
           if(open, @now + 600000, 2147483647), 604800, if(open, 0, 2), 1, 1, 3, 5, 3, 'templates/out', ''
    from jobs;
  -- Of the open ones one in three is still to be sent. Of the others 2 in 100 failed and 1 timed out (their workunit's second
  -- instance is left out: it would only double the rows).
  insert into result (id, create_time, workunitid, server_state, outcome, validate_state, hostid, userid, sent_time, received_time,
                      report_deadline, name, xml_doc_in, stderr_out, batch, appid, app_version_id, random, exit_status)
    select id, made, id, if(open, if(id % 3 = 0, 2, 4), 5), if(open, 0, if(id % 100 < 97, 1, if(id % 100 = 99, 4, 3))), if(open, 0, 1),
           if(open and id % 3 = 0, 0, host), if(open and id % 3 = 0, 0, host), if(open and id % 3 = 0, 0, made + 600),
           if(open, 0, made + 600 + 3600 + d * (1 + host % 8) div 4), made + 600 + 604800, concat('wu_', id, '_0'), concat('<result>', repeat('y', 280), '</result>'),
           repeat('z', 200), batch, 1, 1 + (host % 4) * 3, d, if(id % 100 in (97, 98), 195, 0)
    from jobs;
end//
delimiter ;

create procedure make_waiting(first_id int, how_many int, app int, state int, size_classes int)
  insert into result (id, create_time, workunitid, server_state, name, xml_doc_in, appid, size_class, priority, random)
    select first_id + n, @now - 7200, first_id + n, state, concat('wu_', first_id + n, '_0'), concat('<result>', repeat('y', 280), '</result>'), app,
           if(size_classes = 0, -1, n % size_classes), n % 7, (n * 40503 & 65535)
    from numbers where n < how_many;
create procedure make_waiting_workunits(first_id int, how_many int, app int, size_classes int)
  insert into workunit (id, create_time, appid, name, xml_doc, rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound,
                        transition_time, delay_bound, min_quorum, target_nresults, max_error_results, max_total_results,
                        max_success_results, result_template_file, size_class, priority, keywords)
    select first_id + n, @now - 7200, app, concat('wu_', first_id + n), concat('<workunit>', repeat('x', 280), '</workunit>'), 1e13, 1e15, 1e8, 1e8, @now + 600000, 604800,
           1, 1, 3, 5, 3, 'templates/out', if(size_classes = 0, -1, n % size_classes), n % 7, ''
    from numbers where n < how_many;
