// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/project_rows.h"

#include <fmt/format.h>

#include "tests/support/request_text.h"

namespace sluice::test {
namespace {

constexpr const char* kVersionXml = R"(<file_info>
    <name>up_1.0_x86_64-pc-linux-gnu</name>
    <url>http://127.0.0.1/download/up_1.0_x86_64-pc-linux-gnu</url>
    <executable/>
    <nbytes>889080</nbytes>
</file_info>
<app_version>
    <app_name>up</app_name>
    <version_num>100</version_num>
<file_ref>
    <file_name>up_1.0_x86_64-pc-linux-gnu</file_name>
    <main_program/>
</file_ref>
</app_version>
)";

std::string wu_xml(const std::string& name) {
    return fmt::format(
        "<file_info>\n    <name>in_{0}</name>\n    <url>http://127.0.0.1/download/in_{0}</url>\n"
        "    <md5_cksum>767c41692e4a7753e98f7c12d1e9cc6c</md5_cksum>\n    <nbytes>34</nbytes>\n"
        "</file_info>\n<workunit>\n<file_ref>\n    <file_name>in_{0}</file_name>\n"
        "    <open_name>in</open_name>\n</file_ref>\n</workunit>\n",
        name);
}

std::string result_xml(const std::string& name) {
    return fmt::format(
        "<file_info>\n    <name>{0}_r1_0</name>\n    <generated_locally/>\n    <upload_when_present/>\n"
        "    <max_nbytes>1000000</max_nbytes>\n    <url>http://127.0.0.1/upload</url>\n</file_info>\n"
        "<result>\n    <file_ref>\n        <file_name>{0}_r1_0</file_name>\n"
        "        <open_name>out</open_name>\n    </file_ref>\n</result>\n",
        name);
}

}  // namespace

FakeDb small_project() {
    FakeDb rows;
    rows.platforms[1] = {1, kPlatform, "Linux", false};
    rows.platforms[2] = {2, "anonymous", "anonymous", false};
    App app;
    app.id = 1;
    app.name = "up";
    app.user_friendly_name = "Upcase";
    rows.apps[1] = app;
    AppVersion version;
    version.id = 1;
    version.appid = version.platformid = 1;
    version.version_num = 100;
    version.xml_doc = kVersionXml;
    rows.versions[1] = version;
    rows.users[1] = a_user(1, "alice", kKey);
    return rows;
}

User a_user(Id id, const std::string& name, const std::string& key) {
    User u;
    u.id = id;
    u.create_time = 1'600'000'000;
    u.email_addr = name + "@example.org";
    u.name = name;
    u.authenticator = key;
    u.cross_project_id = "cpid-of-" + name;
    return u;
}

Workunit a_workunit(Id id, std::int64_t now) {
    Workunit w;
    w.id = id;
    w.create_time = now;
    w.appid = 1;
    w.name = fmt::format("wu_{}", id);
    w.xml_doc = wu_xml(w.name);
    w.rsc_fpops_est = 1e10;
    w.rsc_fpops_bound = 1e14;
    w.rsc_memory_bound = 1e7;
    w.rsc_disk_bound = 1e7;
    w.transition_time = kNever;
    w.delay_bound = 7 * 86400;
    w.min_quorum = w.target_nresults = 1;
    w.max_error_results = w.max_total_results = w.max_success_results = 10;
    w.result_template_file = "templates/out";
    return w;
}

Result a_result(Id id, const Workunit& w, int instance) {
    Result r;
    r.id = id;
    r.create_time = w.create_time;
    r.workunitid = w.id;
    r.appid = w.appid;
    r.name = fmt::format("{}_{}", w.name, instance);
    r.xml_doc_in = result_xml(r.name);
    r.priority = w.priority;
    return r;
}

JobSummary summary_of_rows(const Workunit& w, const Result& r) {
    JobSummary j;
    j.result_id = r.id;
    j.workunit_id = w.id;
    j.app_id = static_cast<std::int32_t>(w.appid);
    j.rsc_fpops_est = w.rsc_fpops_est;
    j.rsc_fpops_bound = w.rsc_fpops_bound;
    j.rsc_memory_bound = w.rsc_memory_bound;
    j.rsc_disk_bound = w.rsc_disk_bound;
    j.delay_bound = static_cast<std::int32_t>(w.delay_bound);
    j.priority = static_cast<std::int32_t>(r.priority);
    j.wu_priority = static_cast<std::int32_t>(w.priority);
    j.hr_class = w.hr_class;
    j.app_version_id = static_cast<std::int32_t>(w.app_version_id);
    j.target_nresults = static_cast<std::int16_t>(w.target_nresults);
    j.size_class = static_cast<std::int16_t>(w.size_class);
    return j;
}

}  // namespace sluice::test
