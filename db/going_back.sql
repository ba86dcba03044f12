-- SPDX-License-Identifier: LGPL-3.0-or-later
-- Going back to upstream's programs: takes out of the project's database what Sluice has put there and they do not know.
--
-- When: all programs of the project have stopped (bin/status), the old ones have not been started yet.
--
--     mariadb -u USER -p DATABASE < going_back.sql
--
-- If config.xml has <homogeneous_redundancy> (for the whole project), say so before:
--
--     (echo "SET @project_hr = 2;"; cat going_back.sql) | mariadb -u USER -p DATABASE
--
-- It may be run again. Each part says when it is needed; without it the old programs run as well.

-- 1. Priorities and instances of accelerated batches. Needed if batch_accel has run: their jobs have priority 1, which
--    the old programs never lower. Open workunits and their unsent results get what they had before.
CREATE TABLE IF NOT EXISTS sluice_accel_job (workunit_id integer NOT NULL PRIMARY KEY, batch_id bigint NOT NULL,
  marked tinyint NOT NULL, priority integer NOT NULL, lent integer NOT NULL, extra integer NOT NULL,
  since integer NOT NULL, KEY accel_batch (batch_id)) ENGINE=InnoDB;
CREATE TABLE IF NOT EXISTS sluice_accel_result (workunit_id integer NOT NULL, result_id integer NOT NULL,
  priority integer NOT NULL, PRIMARY KEY (workunit_id, result_id)) ENGINE=InnoDB;
START TRANSACTION;
UPDATE sluice_accel_job j JOIN workunit w ON w.id = j.workunit_id
  SET w.target_nresults = GREATEST(1, w.target_nresults - j.lent),
      w.priority = IF(j.marked = 1 AND w.priority = 1, j.priority, w.priority)
  WHERE w.canonical_resultid = 0 AND w.error_mask = 0;
UPDATE sluice_accel_result s JOIN result r ON r.id = s.result_id
  SET r.priority = s.priority
  WHERE r.server_state IN (1, 2) AND r.priority = 1;
-- Results that were made while their workunit was accelerated: they inherited its priority (plus a boost for retries).
UPDATE sluice_accel_job j JOIN result r ON r.workunitid = j.workunit_id
  LEFT JOIN sluice_accel_result s ON s.workunit_id = j.workunit_id AND s.result_id = r.id
  SET r.priority = r.priority - 1 + j.priority
  WHERE j.marked = 1 AND s.result_id IS NULL AND r.server_state IN (1, 2) AND r.create_time >= j.since
    AND r.priority >= 1;
DELETE FROM sluice_accel_result;
DELETE FROM sluice_accel_job;
COMMIT;

-- 2. Classes of homogeneous redundancy. Needed if <compat_level> was 1 and apps have homogeneous_redundancy: workunits
--    that are committed to a class of hosts that the old scheduler does not know (Apple's own processors; with coarse
--    classes also FreeBSD, Android and other processors under macOS) would never be sent again. Those without an
--    instance that is running or was successful are free for any class now.
--    An open workunit is not assimilated, and the index by app finds it: without such an app no workunit is read.
SET @project_hr = COALESCE(@project_hr, 0);
UPDATE app a STRAIGHT_JOIN workunit w ON w.appid = a.id
  SET w.hr_class = 0
  WHERE (@project_hr > 0 OR a.homogeneous_redundancy > 0)
    AND w.assimilate_state = 0 AND w.hr_class > 0 AND w.canonical_resultid = 0 AND w.error_mask = 0
    AND (w.hr_class % 128 = 23
         OR (IF(@project_hr > 0, @project_hr, a.homogeneous_redundancy) = 2
             AND (w.hr_class DIV 128 IN (5, 6) OR (w.hr_class DIV 128 = 4 AND w.hr_class % 128 NOT IN (2, 4)))))
    AND NOT EXISTS (SELECT 1 FROM result r WHERE r.workunitid = w.id
      AND (r.server_state = 4 OR (r.server_state = 5 AND r.outcome = 1 AND r.validate_state <> 2)));
-- The others have a result of such a host, or soon will. Let them end with Sluice's programs before you go back, or,
-- where a result of another kind of host may be compared with it: UPDATE workunit SET hr_class = 0 WHERE id = …
SELECT w.id AS `waits for a class that the old programs do not know`, w.name, w.hr_class
  FROM app a STRAIGHT_JOIN workunit w ON w.appid = a.id
  WHERE (@project_hr > 0 OR a.homogeneous_redundancy > 0)
    AND w.assimilate_state = 0 AND w.hr_class > 0 AND w.canonical_resultid = 0 AND w.error_mask = 0
    AND (w.hr_class % 128 = 23
         OR (IF(@project_hr > 0, @project_hr, a.homogeneous_redundancy) = 2
             AND (w.hr_class DIV 128 IN (5, 6) OR (w.hr_class DIV 128 = 4 AND w.hr_class % 128 NOT IN (2, 4)))))
  ORDER BY w.id;

-- 3. Gangs (jobs that run at the same time). Needed if there are any: the old programs make no instance of such a job,
--    and without gang_hub no member meets the others, so their batches would never end. What is not done is cancelled.
CREATE TABLE IF NOT EXISTS sluice_gang_job (batch_id bigint NOT NULL, number bigint NOT NULL, member integer NOT NULL,
  workunit_name varchar(191) NOT NULL, PRIMARY KEY (batch_id, number, member)) ENGINE=InnoDB;
SELECT w.id AS `is cancelled: a member of a gang`, w.name
  FROM sluice_gang_job g JOIN workunit w ON w.name = g.workunit_name
  WHERE w.canonical_resultid = 0 AND w.error_mask = 0 ORDER BY w.id;
UPDATE sluice_gang_job g JOIN workunit w ON w.name = g.workunit_name
  SET w.error_mask = 16, w.transition_time = UNIX_TIMESTAMP()
  WHERE w.canonical_resultid = 0 AND w.error_mask = 0;

-- 4. Tables of our own. Never needed: the old programs do not look at them.
SELECT GROUP_CONCAT('`', table_name, '`') INTO @sluice_tables FROM information_schema.tables
  WHERE table_schema = DATABASE() AND table_name LIKE 'sluice\_%';
SET @sluice_drop = IF(@sluice_tables IS NULL, 'DO 0', CONCAT('DROP TABLE ', @sluice_tables));
PREPARE sluice_drop FROM @sluice_drop;
EXECUTE sluice_drop;
DEALLOCATE PREPARE sluice_drop;
