// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// size_regulator and size_census as programs on a real MariaDB: one app with three classes, one without.
#include <gtest/gtest.h>

#include "sluice/base/files.h"
#include "sluice/db/size_store.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/host.h"
#include "sluice/model/job.h"
#include "tests/support/database_rows.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

class SizePrograms : public testing::Test {
  protected:
    SizePrograms() : db_(settings()) {
        truncate_all_tables(db_);
        write_config(0);
        fs::create_directories(project_ / "cgi-bin");
        App a;
        a.id = 1;
        a.name = "multi";
        a.n_size_classes = 3;
        rows_.apps[1] = a;
        a.id = 2;
        a.name = "plain";
        a.n_size_classes = 0;
        rows_.apps[2] = a;
    }
    static DbSettings settings() {
        static const DbSettings made = PrivateMariaDb::shared().create_project_database("size");
        return made;
    }
    void write_config(int level) {
        project_.write("config.xml", "<boinc><config><compat_level>" + std::to_string(level) + "</compat_level>" +
                                         PrivateMariaDb::shared().config_elements("size") + "</config></boinc>");
    }
    RunOptions options() {
        RunOptions o;
        o.env["BOINC_PROJECT_DIR"] = project_.path().string();
        return o;
    }
    static std::vector<std::string> command(std::vector<std::string> args) {
        args[0] = std::string(SLUICE_BIN) + "/" + args[0];
        return args;
    }
    RunResult run_program(const std::vector<std::string>& args) { return run(command(args), options()); }

    void add_jobs(int n, ServerState state, int size_class, std::int64_t first_priority = 0) {
        for (int i = 0; i < n; ++i) {
            Workunit w;
            w.id = rows_.workunits.next_key();
            w.appid = 1;
            w.name = "w" + std::to_string(w.id);
            w.size_class = size_class;
            rows_.workunits[w.id] = w;
            Result r;
            r.id = w.id;
            r.workunitid = w.id;
            r.appid = 1;
            r.name = w.name + "_0";
            r.server_state = state;
            r.size_class = size_class;
            r.priority = first_priority + i;
            rows_.results[r.id] = r;
        }
    }
    void store() { store_rows(db_, rows_); }
    std::int64_t unsent(int size_class) {
        Sql sql("SELECT COUNT(*) FROM result WHERE server_state=2 AND size_class=");
        return number_of(db_, sql << size_class);
    }
    void measure(Id host, double et, double credit, const std::string& plan_class = "") {
        Host h;
        h.id = host;
        h.on_frac = 1;
        h.active_frac = 0.5;
        h.gpu_active_frac = 0.25;
        h.expavg_credit = credit;
        rows_.hosts[host] = h;
        const Id version = plan_class.empty() ? 11 : 12;
        AppVersion v;
        v.id = version;
        v.appid = 1;
        v.platformid = 1;
        v.version_num = 100;
        v.plan_class = plan_class;
        rows_.versions[version] = v;
        HostAppVersion hav;
        hav.host_id = host;
        hav.app_version_id = version;
        hav.et = {5, et, 0, 0};
        rows_.host_app_versions[{host, version}] = hav;
    }

    FakeDb rows_;
    TempDir project_;
    Database db_;
};

}  // namespace sluice::test
