# SPDX-License-Identifier: LGPL-3.0-or-later
# The demo's project, its batch, its daemons and its three volunteers.

BATCH=1
ACCELERATED_FROM=0.6  # the part of the batch that is done when its last jobs are given to quick hosts

SAMPLES() { echo "$DEMO/sluice/share/sluice/samples/mandelbrot"; }

platform() {
    case "$(uname -m)" in
        x86_64) echo x86_64-pc-linux-gnu ;;
        aarch64) echo aarch64-unknown-linux-gnu ;;
        *) echo "quickstart: no BOINC platform name is known for $(uname -m)" >&2; return 1 ;;
    esac
}

tile_count() { wc -l <"$DEMO/tiles.txt" | tr -d ' '; }

# in_project COMMAND...: as the project's account.
in_project() { (cd "$DEMO/project" && as project env BOINC_PROJECT_DIR="$DEMO/project" MYSQL_UNIX_PORT="$(mysql_socket)" "$@"); }

# quietly LOG COMMAND...: what it prints goes to a log, and is shown if it fails.
quietly() {
    local log=$DEMO/log/$1
    shift
    "$@" >>"$log" 2>&1 || { tail -20 "$log" >&2; echo "quickstart: this failed: $*" >&2; return 1; }
}

make_demo_project() {
    PORT=$(free_port)
    echo "$PORT" >"$DEMO/run/port"
    # As docs/setting_up_a_project.md does it.
    quietly make_project.log "$DEMO/sluice/bin/make_project" --user "$(account_of project)" --root "$DEMO/project" --name demo \
        --long_name "Sluice demo" --url_base "http://127.0.0.1:$PORT" --db_admin "$(id -un)" --db_user demo \
        --db_name sluice_demo --db_host localhost --db_socket "$(mysql_socket)" --web_user "$(account_of web)"
    configure_demo_project
    add_demo_app
    KEY=$(in_project bin/create_account --email volunteer@example.org --name volunteer | grep -oE '[0-9a-f]{32}' | head -1)
}

# What the demo wants otherwise than a new project, which is at compat_level 1 as it stands: everything sooner.
configure_demo_project() {
    local daemon
    # Into the same file, which the web server's group reads; `sed -i` would make another one.
    in_config() { sed "$@" "$DEMO/project/config.xml" >"$DEMO/log/config.xml" && in_project tee config.xml <"$DEMO/log/config.xml" >/dev/null; }
    set_option() {
        if grep -q "<$1>" "$DEMO/project/config.xml"; then in_config "s|<$1>.*</$1>|<$1>$2</$1>|"
        else in_config "s|</config>|  <$1>$2</$1>\n  </config>|"; fi
    }
    set_option max_wus_to_send 2            # so that all volunteers get their share
    set_option max_wus_in_progress 2        # clients want three minutes of work in any case: all of it at once
    set_option min_sendwork_interval 2
    set_option one_result_per_host_per_wu 1 # a quorum of two is two hosts
    set_option ltt_reserve_timeout 15       # s; then the last jobs go to any host
    set_option decision_log all             # what the report at the end counts
    set_option sched_debug_level 4
    # db_purge and db_dump run, too: db_dump once a minute, for it keeps the files that it replaces.
    in_config -e 's|<disabled>1</disabled>|<disabled>0</disabled>|' -e '/<cmd>db_dump /{n;s|24 hours|1 minutes|}'
    # Hosts are measured every few seconds, not daily. What serves the last jobs runs as daemons of its own here.
    in_config -e 's|<period>24 hours</period>|<period>4 seconds</period>|'
    for daemon in "size_regulator --app_name mandelbrot --lo 4 --hi 8 --sleep_time 1" \
                  "sample_bitwise_validator --app mandelbrot --sleep_interval 1" \
                  "script_assimilator --app mandelbrot --script \"collect_tile wu_name files\" --sleep_interval 1" \
                  "status_page --sleep_interval 2" \
                  "batch_stats --min_hosts 1 --sleep_interval 2" \
                  "batch_accel --no_stats --min_frac_done $ACCELERATED_FROM --sleep_interval 1"; do
        in_config "s|  </daemons>|    <daemon>\n      <cmd>$daemon</cmd>\n    </daemon>\n  </daemons>|"
    done
    in_config 's|<cmd>transitioner -d 3</cmd>|<cmd>transitioner -d 3 --sleep_interval 1</cmd>|'
    in_project tee bin/collect_tile >/dev/null <<SCRIPT
#!/bin/sh
# collect_tile WU_NAME FILE: keeps the tile of a finished workunit.
[ "\$1" = --error ] && { echo "\$3" >>"$DEMO/results/failed"; exit 0; }
cp "\$2" "$DEMO/results/\$1.out.new" && mv "$DEMO/results/\$1.out.new" "$DEMO/results/\$1.out"
SCRIPT
    in_project chmod +x bin/collect_tile
}

# The application: project.xml row, signed version, templates; three size classes.
add_demo_app() {
    local folder program
    program=mandelbrot_1.0_$(platform)
    folder=apps/mandelbrot/1.0/$(platform)
    in_project mkdir -p "$folder"
    in_project cp "$(SAMPLES)/mandelbrot" "$folder/$program"
    in_project chmod +x "$folder/$program"
    in_project cp "$(SAMPLES)"/templates/* templates/
    in_project sed -i "s|</boinc>|  <app>\n    <name>mandelbrot</name>\n    <user_friendly_name>Mandelbrot tiles</user_friendly_name>\n    <n_size_classes>3</n_size_classes>\n  </app>\n</boinc>|" \
        project.xml
    quietly setup.log in_project bin/xadd
    quietly setup.log in_project bin/update_versions --noconfirm
}

# tiles.txt: a line "NAME SIZE_CLASS FLOPS QUORUM" for each tile.
cut_picture() { in_project "$(SAMPLES)/mandelbrot_batch" cut "$DEMO/tiles" --rows "$ROWS" >"$DEMO/tiles.txt"; }

# A row of table batch, as the web pages of a project would make it, and a workunit for each tile.
submit_batch() {
    local name class flops quorum
    sql "INSERT INTO batch (id, user_id, create_time, logical_start_time, logical_end_time, est_completion_time, njobs, fraction_done,
             nerror_jobs, state, completion_time, credit_estimate, credit_canonical, credit_total, name, app_id, project_state, description,
             expire_time)
         SELECT $BATCH, u.id, UNIX_TIMESTAMP(), 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 'a picture', a.id, 0, '', 0 FROM user u, app a"
    while read -r name class flops quorum; do
        in_project cp "$DEMO/tiles/$name.in" "$name" </dev/null
        echo "--wu_name $name --size_class $class --rsc_fpops_est $flops --min_quorum $quorum --target_nresults $quorum $name"
    done <"$DEMO/tiles.txt" >"$DEMO/jobs.txt"
    while read -r name class flops quorum; do echo "$name"; done <"$DEMO/tiles.txt" |
        in_project xargs bin/stage_file >/dev/null
    quietly setup.log submit_jobs
}
submit_jobs() {
    in_project bin/create_work --appname mandelbrot --batch $BATCH --stdin --max_total_results 8 --max_error_results 4 --max_success_results 5 \
        --rsc_fpops_bound 1e15 --rsc_memory_bound 5e7 --rsc_disk_bound 5e7 --delay_bound 86400 --verbose <"$DEMO/jobs.txt"
}

start_daemons() {
    quietly start.log in_project bin/start --enable
    local i
    for ((i = 0; i < 1200; i++)); do
        in_project bin/show_shmem >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    echo "quickstart: the feeder does not start; see $DEMO/project/log_*/feeder.log" >&2
    return 1
}

master_url() { echo "http://127.0.0.1:$(cat "$DEMO/run/port")/demo/"; }

# start_client NUMBER GFLOPS: a real boinc-client with one CPU; it contacts nothing but the demo. The application computes no
# faster than that, so that there are devices of several speeds, whatever this machine is.
start_client() {
    local folder=$DEMO/client$1
    mkdir -p "$folder"
    cat >"$folder/cc_config.xml" <<'XML'
<cc_config>
  <log_flags><sched_op_debug>1</sched_op_debug></log_flags>
  <options>
    <ncpus>1</ncpus>
    <no_priority_change>1</no_priority_change>
    <dont_contact_ref_site>1</dont_contact_ref_site>
    <no_info_fetch>1</no_info_fetch>
    <report_results_immediately>1</report_results_immediately>
    <skip_cpu_benchmarks>1</skip_cpu_benchmarks>
  </options>
</cc_config>
XML
    cat >"$folder/global_prefs_override.xml" <<'XML'
<global_preferences>
  <run_on_batteries>1</run_on_batteries>
  <run_if_user_active>1</run_if_user_active>
  <suspend_cpu_usage>0</suspend_cpu_usage>
  <cpu_usage_limit>100</cpu_usage_limit>
  <disk_min_free_gb>0.1</disk_min_free_gb>
  <disk_max_used_pct>100</disk_max_used_pct>
  <work_buf_min_days>0</work_buf_min_days>
  <work_buf_additional_days>0</work_buf_additional_days>
</global_preferences>
XML
    # What a benchmark would have measured; one that was never benchmarked is not counted among the measured hosts.
    cat >"$folder/client_state.xml" <<XML
<client_state>
<host_info>
    <p_fpops>$(awk "BEGIN { print 1e9 * $2 }")</p_fpops>
    <p_iops>$(awk "BEGIN { print 2e9 * $2 }")</p_iops>
    <p_membw>1e9</p_membw>
    <p_calculated>$(date +%s)</p_calculated>
</host_info>
</client_state>
XML
    give client "$folder"
    become client
    launch "client$1" "$DEMO/log/client$1.log" "${BECOME[@]}" env "MANDELBROT_GFLOPS=$2" boinc --dir "$folder" --no_gpus --no_info_fetch --allow_multiple_clients \
        --skip_cpu_benchmarks --suppress_net_info --gui_rpc_unix_domain --insecure \
        --sched_retry_delay_min 1 --sched_retry_delay_max 5 --attach_project "$(master_url)" "$KEY"
}

nudge_client() { (cd "$DEMO/client$1" && as client boinccmd --unix_domain --project "$(master_url)" update >/dev/null 2>&1) || true; }
