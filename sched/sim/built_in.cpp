// SPDX-License-Identifier: LGPL-3.0-or-later
// The scenarios that sluice_sim knows by name.
#include "sched/sim/scenario.h"

namespace sluice::sim {

const std::vector<BuiltInScenario>& built_in_scenarios() {
    static const std::vector<BuiltInScenario> all = {
        {"demo", "300 hosts, a week: a stream and batches of two users", R"({
  "days": 7, "warmup_days": 1, "drain_days": 3, "config": {"shmem_work_items": 200},
  "fleet": {"hosts": 300, "buffer_factor": 0.1},
  "users": [{"name": "alice"}, {"name": "bob"}],
  "work": [
    {"user": "alice", "kind": "stream", "keep": 200, "size_hours": 4},
    {"user": "bob", "kind": "batches", "jobs": 200, "every_hours": 24, "size_hours": 2, "delay_bound_days": 2}
  ]})"},
        {"sizes", "jobs of four sizes, size classes and size_regulator", R"({
  "days": 14, "warmup_days": 4, "target_hours": 8,
  "config": {"shmem_work_items": 1000, "mm_min_slots": 100},
  "size_regulator": {"low": 200, "high": 400, "sleep": 60},
  "fleet": {"hosts": 1000, "buffer_factor": 0.5},
  "apps": [{"name": "app", "size_classes": 4}],
  "work": [{"kind": "stream", "keep": 4000,
    "sizes": [{"hours": 1.5}, {"hours": 4}, {"hours": 8}, {"hours": 20}], "delay_bound_days": 14}]})"},
        {"batches", "batches beside a stream that never ends", R"({
  "days": 14, "warmup_days": 5, "drain_days": 14,
  "config": {"shmem_work_items": 500},
  "fleet": {"hosts": 500},
  "apps": [{"name": "app", "size_classes": 1}],
  "users": [{"name": "stream"}, {"name": "batches"}],
  "work": [
    {"user": "stream", "kind": "stream", "keep": 500},
    {"user": "batches", "kind": "batches", "jobs": 500, "every_hours": 8}
  ]})"},
        {"shares", "three users with quotas 2:1:1, one of whom comes late; the feeder lets them take turns", R"({
  "days": 21, "warmup_days": 1, "feeder": "--user 1 --user 2 --user 3",
  "config": {"shmem_work_items": 200},
  "fleet": {"hosts": 300, "buffer_factor": 0.2},
  "users": [{"name": "double", "quota": 2}, {"name": "single"}, {"name": "late"}],
  "work": [
    {"user": "double", "kind": "batches", "jobs": 4000, "every_hours": 24, "arrivals": "regular"},
    {"user": "single", "kind": "batches", "jobs": 4000, "every_hours": 24, "arrivals": "regular"},
    {"user": "late", "kind": "batches", "jobs": 4000, "every_hours": 24, "arrivals": "regular", "from_day": 10}
  ]})"},
        {"step", "ten times the hosts come within an hour", R"({
  "days": 6, "warmup_days": 1, "config": {"shmem_work_items": 1000},
  "fleet": {"hosts": 100},
  "work": [{"kind": "stream", "keep": 2000}],
  "events": [{"at_day": 3, "what": "hosts_join", "part": 10}]})"},
        {"outage", "the database is away for a day, then a third of the hosts vanishes", R"({
  "days": 14, "warmup_days": 1, "config": {"shmem_work_items": 200},
  "fleet": {"hosts": 300},
  "work": [{"kind": "stream", "keep": 400},
           {"kind": "batches", "jobs": 200, "every_hours": 24}],
  "events": [{"at_day": 4, "what": "database_away", "hours": 24},
             {"at_day": 8, "what": "hosts_vanish", "part": 0.333}]})"},
    };
    return all;
}

}  // namespace sluice::sim
