// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/handlers/compat/rows.h"

#include <cstdarg>
#include <cstring>

#include "include/sluice/compat/filesys.h"
#include "include/sluice/compat/sched_msgs.h"
#include "include/sluice/compat/sched_util_basic.h"
#include "include/sluice/compat/str_util.h"
#include "include/sluice/compat/validate_util.h"

SCHED_CONFIG config;
bool standalone = false;

// Only what is read: clearing all arrays would cost more than judging most results.
void APP::clear() { std::memset(static_cast<void*>(this), 0, sizeof *this); }

void WORKUNIT::clear() {
    std::memset(static_cast<void*>(&id), 0, offsetof(WORKUNIT, xml_doc) + 1);
    std::memset(static_cast<void*>(&batch), 0, sizeof *this - offsetof(WORKUNIT, batch));
}

void RESULT::clear() {
    std::memset(static_cast<void*>(&id), 0, offsetof(RESULT, xml_doc_in));
    *xml_doc_in = *xml_doc_out = *stderr_out = '\0';
    std::memset(static_cast<void*>(&batch), 0, sizeof *this - offsetof(RESULT, batch));
}

void USER::clear() { std::memset(static_cast<void*>(this), 0, sizeof *this); }
void TEAM::clear() { std::memset(static_cast<void*>(this), 0, sizeof *this); }
void HOST::clear() { std::memset(static_cast<void*>(this), 0, sizeof *this); }
void HOST_APP_VERSION::clear() { std::memset(static_cast<void*>(this), 0, sizeof *this); }

namespace sluice {
namespace {

template <std::size_t n>
void copy_text(char (&to)[n], const std::string& from) {
    const std::size_t fits = std::min(from.size(), n - 1);
    std::memcpy(to, from.data(), fits);
    to[fits] = '\0';
}

/// Times and counts of upstream's rows have 32 bits.
int narrow(std::int64_t value) { return static_cast<int>(std::min<std::int64_t>(value, 2147483647)); }

}  // namespace

void fill(const Workunit& w, WORKUNIT& to) {
    to.clear();
    to.id = w.id;
    to.create_time = narrow(w.create_time);
    to.appid = w.appid;
    copy_text(to.name, w.name);
    copy_text(to.xml_doc, w.xml_doc);
    to.batch = narrow(w.batch);
    to.rsc_fpops_est = w.rsc_fpops_est;
    to.rsc_fpops_bound = w.rsc_fpops_bound;
    to.rsc_memory_bound = w.rsc_memory_bound;
    to.rsc_disk_bound = w.rsc_disk_bound;
    to.rsc_bandwidth_bound = w.rsc_bandwidth_bound;
    to.need_validate = w.need_validate;
    to.canonical_resultid = w.canonical_resultid;
    to.canonical_credit = w.canonical_credit;
    to.transition_time = narrow(w.transition_time);
    to.delay_bound = narrow(w.delay_bound);
    to.error_mask = w.error_mask;
    to.file_delete_state = static_cast<int>(w.file_delete_state);
    to.assimilate_state = static_cast<int>(w.assimilate_state);
    to.hr_class = w.hr_class;
    to.opaque = w.opaque;
    to.min_quorum = w.min_quorum;
    to.target_nresults = w.target_nresults;
    to.max_error_results = w.max_error_results;
    to.max_total_results = w.max_total_results;
    to.max_success_results = w.max_success_results;
    copy_text(to.result_template_file, w.result_template_file);
    to.priority = narrow(w.priority);
    to.fileset_id = w.fileset_id;
    to.app_version_id = w.app_version_id;
    to.transitioner_flags = static_cast<int>(w.transitioner_flags);
    to.size_class = w.size_class;
    copy_text(to.keywords, w.keywords);
    to.app_version_num = w.app_version_num;
}

void fill(const Result& r, RESULT& to) {
    to.clear();
    to.id = r.id;
    to.create_time = narrow(r.create_time);
    to.workunitid = r.workunitid;
    to.server_state = static_cast<int>(r.server_state);
    to.outcome = static_cast<int>(r.outcome);
    to.client_state = static_cast<int>(r.client_state);
    to.hostid = r.hostid;
    to.userid = r.userid;
    to.report_deadline = narrow(r.report_deadline);
    to.sent_time = narrow(r.sent_time);
    to.received_time = narrow(r.received_time);
    copy_text(to.name, r.name);
    to.cpu_time = r.cpu_time;
    copy_text(to.xml_doc_in, r.xml_doc_in);
    copy_text(to.xml_doc_out, r.xml_doc_out);
    copy_text(to.stderr_out, r.stderr_out);
    to.batch = narrow(r.batch);
    to.file_delete_state = static_cast<int>(r.file_delete_state);
    to.validate_state = static_cast<int>(r.validate_state);
    to.claimed_credit = r.claimed_credit;
    to.granted_credit = r.granted_credit;
    to.opaque = r.opaque;
    to.random = narrow(r.random);
    to.app_version_num = r.app_version_num;
    to.appid = r.appid;
    to.exit_status = r.exit_status;
    to.teamid = r.teamid;
    to.priority = narrow(r.priority);
    to.elapsed_time = r.elapsed_time;
    to.flops_estimate = r.flops_estimate;
    to.app_version_id = r.app_version_id;
    to.runtime_outlier = r.runtime_outlier;
    to.size_class = r.size_class;
    to.peak_working_set_size = r.peak_working_set_size;
    to.peak_swap_size = r.peak_swap_size;
    to.peak_disk_usage = r.peak_disk_usage;
}

HandlerArguments::HandlerArguments(const std::vector<std::string>& words) : words_{"handler"} {
    words_.insert(words_.end(), words.begin(), words.end());
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
}

std::string set_up_upstream(const WireHello& hello) {
    log_messages.set_debug_level(hello.debug_level);
    if (const int error = config.parse_file(hello.project_dir.c_str()))
        return "config.xml: " + std::string(boincerror(error));
    // What the daemon made of it, defaults included.
    copy_text(config.project_dir, hello.project_dir);
    copy_text(config.upload_dir, hello.upload_dir);
    copy_text(config.download_dir, hello.download_dir);
    config.uldl_dir_fanout = hello.uldl_dir_fanout;
    return "";
}

}  // namespace sluice

int SCHED_CONFIG::parse_file(const char* folder) {
    const std::string file = std::string(folder == nullptr ? project_dir : folder) + "/config.xml";
    FILE* f = std::fopen(file.c_str(), "re");
    if (f == nullptr) return ERR_FOPEN;
    MIOFILE from;
    from.init_file(f);
    XML_PARSER xml(&from);
    if (!xml.parse_start("config")) {
        std::fclose(f);
        return ERR_XML_PARSE;
    }
    const auto text = [&](const char* tag, char(&to)[256]) { return xml.parse_str(tag, to, sizeof to); };
    while (!xml.get_tag() && !(xml.is_tag && xml.match_tag("/config"))) {
        if (!xml.is_tag) continue;
        if (text("master_url", master_url) || text("long_name", long_name) || text("db_name", db_name) ||
            text("db_user", db_user) || text("db_passwd", db_passwd) || text("db_host", db_host) ||
            text("db_ssl_ca", db_ssl_ca) || text("key_dir", key_dir) || text("download_url", download_url) ||
            text("download_dir", download_dir) || text("upload_url", upload_url) || text("upload_dir", upload_dir) ||
            xml.parse_int("uldl_dir_fanout", uldl_dir_fanout) ||
            xml.parse_int("daily_result_quota", daily_result_quota) ||
            xml.parse_int("homogeneous_redundancy", homogeneous_redundancy) ||
            xml.parse_bool("cache_md5_info", cache_md5_info) ||
            xml.parse_bool("enable_assignment", enable_assignment) ||
            xml.parse_bool("one_result_per_host_per_wu", one_result_per_host_per_wu) ||
            xml.parse_bool("one_result_per_user_per_wu", one_result_per_user_per_wu) ||
            xml.parse_bool("debug_credit", debug_credit))
            continue;
        xml.skip_unexpected();
    }
    std::fclose(f);
    return 0;
}

int SCHED_CONFIG::upload_path(const char* name, char* path) {
    return dir_hier_path(name, upload_dir, uldl_dir_fanout, path, true);
}

int SCHED_CONFIG::download_path(const char* name, char* path) {
    return dir_hier_path(name, download_dir, uldl_dir_fanout, path, true);
}

const char* SCHED_CONFIG::project_path(const char* format, ...) {
    static char path[MAXPATHLEN];
    char below[MAXPATHLEN];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(below, sizeof below, format, arguments);
    va_end(arguments);
    strlcpy(path, (std::string(project_dir) + "/" + below).c_str(), sizeof path);
    return path;
}

namespace {

int read_file_ref(XML_PARSER& xml, OUTPUT_FILE_INFO& file) {
    while (!xml.get_tag()) {
        if (!xml.is_tag) continue;
        if (xml.match_tag("/file_ref")) {
            if (file.phys_name.empty() || file.logical_name.empty()) return ERR_XML_PARSE;
            char path[MAXPATHLEN];
            dir_hier_path(file.phys_name.c_str(), config.upload_dir, config.uldl_dir_fanout, path);
            file.path = standalone ? file.phys_name : path;
            return 0;
        }
        if (xml.parse_string("file_name", file.phys_name) || xml.parse_string("open_name", file.logical_name) ||
            xml.parse_bool("optional", file.optional) || xml.parse_bool("no_validate", file.no_validate))
            continue;
    }
    return ERR_XML_PARSE;
}

/// `n`: no more than these.
int read_file_refs(const RESULT& result, std::vector<OUTPUT_FILE_INFO>& files, std::size_t n) {
    MIOFILE from;
    from.init_buf_read(result.xml_doc_in);
    XML_PARSER xml(&from);
    files.clear();
    while (files.size() < n && !xml.get_tag()) {
        if (!xml.is_tag || !xml.match_tag("file_ref")) continue;
        OUTPUT_FILE_INFO file;
        if (const int error = read_file_ref(xml, file)) return error;
        files.push_back(file);
    }
    return 0;
}

}  // namespace

int get_output_file_infos(const RESULT& result, std::vector<OUTPUT_FILE_INFO>& files) {
    return read_file_refs(result, files, result.xml_doc_in[0] == '\0' ? 0 : BLOB_SIZE);
}

int get_output_file_info(const RESULT& result, OUTPUT_FILE_INFO& file) {
    std::vector<OUTPUT_FILE_INFO> files;
    if (const int error = read_file_refs(result, files, 1)) return error;
    if (files.empty()) return ERR_XML_PARSE;
    file = files.front();
    return 0;
}

int get_output_file_path(const RESULT& result, std::string& path) {
    OUTPUT_FILE_INFO file;
    const int error = get_output_file_info(result, file);
    if (error == 0) path = file.path;
    return error;
}

int get_output_file_paths(const RESULT& result, std::vector<std::string>& paths) {
    std::vector<OUTPUT_FILE_INFO> files;
    const int error = get_output_file_infos(result, files);
    if (error != 0) return error;
    paths.clear();
    for (const OUTPUT_FILE_INFO& file : files) paths.push_back(file.path);
    return 0;
}

int get_logical_name(RESULT& result, const std::string& path, std::string& name) {
    std::vector<OUTPUT_FILE_INFO> files;
    if (get_output_file_infos(result, files) != 0) return ERR_XML_PARSE;
    const std::string physical = path.substr(path.rfind('/') + 1);
    for (const OUTPUT_FILE_INFO& file : files) {
        if (file.phys_name != physical) continue;
        name = file.logical_name;
        return 0;
    }
    return ERR_NOT_FOUND;
}

void remove_random_from_filename(const char* in, char* out) {
    std::string name = in;
    const std::size_t random = name.rfind("_r");
    if (random != std::string::npos && name.find('r', random + 2) == std::string::npos) {
        const std::size_t end = name.find('_', random + 1);
        name.erase(random, end == std::string::npos ? end : end - random);
    }
    std::memcpy(out, name.c_str(), name.size() + 1);
}
