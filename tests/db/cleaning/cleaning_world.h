// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project with upload and download trees and rows in every state, for the programs that clean up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "sluice/base/files.h"
#include "sluice/db/cleaning_store.h"
#include "sluice/model/job.h"
#include "tests/support/database_rows.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

class CleaningWorld : public testing::Test {
  protected:
    static constexpr int kFanout = 4;

    CleaningWorld() : db_(settings()) {
        truncate_all_tables(db_);
        project_.write("config.xml", "<boinc><config>" + PrivateMariaDb::shared().config_elements("cleaning") +
                                         "<uldl_dir_fanout>4</uldl_dir_fanout><cache_md5_info/><upload_dir>" +
                                         upload().string() + "</upload_dir><download_dir>" + download().string() +
                                         "</download_dir></config></boinc>");
        for (int i = 0; i < kFanout; ++i) {
            fs::create_directories(upload() / fanout_folder(static_cast<unsigned>(i)));
            fs::create_directories(download() / fanout_folder(static_cast<unsigned>(i)));
        }
        rows_.apps[1].id = 1, rows_.apps[1].name = "one";
        rows_.apps[2].id = 2, rows_.apps[2].name = "two";
    }
    static DbSettings settings() {
        static const DbSettings made = PrivateMariaDb::shared().create_project_database("cleaning");
        return made;
    }
    fs::path upload() const { return project_ / "upload"; }
    fs::path download() const { return project_ / "download"; }
    fs::path output(const std::string& name) const { return fanout_path(upload(), name, kFanout); }
    fs::path input(const std::string& name) const { return fanout_path(download(), name, kFanout); }
    static void write(const fs::path& file) { write_file_atomically(file, "content of " + file.filename().string()); }

    static std::string file_info(const std::string& name, const std::string& more = "") {
        return "<file_info>\n<name>" + name + "</name>\n" + more + "</file_info>\n";
    }
    /// A workunit with the input file in_ID, which exists.
    Workunit& workunit(Id id, FileDeleteState state, const std::string& name = "") {
        Workunit& w = rows_.workunits[id];
        w.id = id, w.appid = 1, w.name = name.empty() ? "wu_" + std::to_string(id) : name, w.create_time = 1000;
        w.file_delete_state = state;
        w.xml_doc = file_info("in_" + std::to_string(id));
        write(input("in_" + std::to_string(id)));
        return w;
    }
    /// A result with the output file out_ID, which exists.
    Result& result(Id id, Id wu, FileDeleteState state) {
        Result& r = rows_.results[id];
        r.id = id, r.workunitid = wu, r.appid = 1, r.name = "wu_" + std::to_string(wu) + "_" + std::to_string(id);
        r.server_state = ServerState::kOver, r.outcome = Outcome::kSuccess, r.file_delete_state = state;
        r.xml_doc_in = file_info("out_" + std::to_string(id));
        write(output("out_" + std::to_string(id)));
        return r;
    }
    /// The file group of that name, whose number is 1.
    void add_to_group(const std::string& name, Id workunit) {
        rows_.file_groups[1] = {.name = name, .id = 1};
        rows_.group_workunits[{1, workunit}] = true;
    }
    void store() { store_rows(db_, rows_); }

    static std::string program(const std::string& name) { return std::string(SLUICE_BIN) + "/" + name; }
    RunResult run_program(std::vector<std::string> words, RunOptions options = {}) {
        words[0] = program(words[0]);
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        return run(words, options);
    }
    std::map<Id, int> states(FilesOf of) {
        std::map<Id, int> found;
        Sql sql("SELECT id, file_delete_state FROM ");
        for (Rows r = db_.query(sql << (of == FilesOf::kResult ? SqlLiteral("result") : SqlLiteral("workunit")));
             r.next();)
            found[r.i64(0)] = r.i32(1);
        return found;
    }

    TempDir project_;
    FakeDb rows_;
    Database db_;
};

}  // namespace sluice::test
