// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/new_project.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/project/project_xml.h"
#include "sluice/base/error.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/xml/strict.h"

namespace sluice {
namespace {

constexpr std::string_view kNameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";

}  // namespace

std::string fill_template(std::string_view text, const TemplateValues& values, Escape escape) {
    std::string filled;
    while (true) {
        const std::size_t at = text.find('@');
        filled += text.substr(0, at);
        if (at == std::string_view::npos) return filled;
        text.remove_prefix(at + 1);
        const std::size_t end = text.find_first_not_of(kNameCharacters);
        const bool is_name = end != std::string_view::npos && end > 0 && text[end] == '@';
        if (!is_name) {
            filled += '@';
            continue;
        }
        const std::string_view name = text.substr(0, end);
        const auto value = values.find(name);
        if (value == values.end()) throw Error("template: @" + std::string(name) + "@ has no value");
        const bool raw = escape == Escape::kNone || name.starts_with("RAW_");
        filled += raw ? value->second : xml_escape(value->second);
        text.remove_prefix(end + 1);
    }
}

namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

void check_characters(const std::string& what, const std::string& text, const std::string& more) {
    const std::string allowed = std::string(kLetters) + more;
    const std::size_t bad = text.find_first_not_of(allowed);
    if (text.empty() || bad != std::string::npos) {
        throw ConfigError(fmt::format("{} '{}' must consist of letters, digits and {}", what, in_one_line(text), more));
    }
}

/// The folder's name stands in config.xml, in Apache's configuration (where <Directory> takes patterns), in shell
/// commands and in a cron line. A character that has a meaning in one of these is refused. mod_fcgid can't run a
/// program whose path holds a blank.
void check_folder(const std::string& root) {
    constexpr std::string_view kRefused = "\"'\\$%`|<>{}[]*?#";
    const auto is_bad = [&](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte <= ' ' || byte == 0x7f || kRefused.find(c) != std::string_view::npos;
    };
    if (root.starts_with('/') && std::ranges::none_of(root, is_bad)) return;
    throw ConfigError(fmt::format(
        "The project's folder '{}' must be without blanks and any of {}: choose another --root", root, kRefused));
}

/// As one word of a shell.
std::string for_shell(const std::string& word) {
    const bool plain = word.find_first_not_of(std::string(kLetters) + "/._-+") == std::string::npos;
    return plain ? word : "'" + word + "'";
}

/// How Apache runs the scheduler.
enum class CgiVariant { kCgi, kFcgid, kProxy };

std::string variant_note(CgiVariant gateway) {
    switch (gateway) {
        case CgiVariant::kCgi: return "A process a request: mod_cgid or mod_cgi.";
        case CgiVariant::kFcgid:
            return "The scheduler stays in memory: mod_fcgid. Uploads, which may be of any size: mod_cgid or mod_cgi.";
        case CgiVariant::kProxy:
            return "The scheduler is a daemon of the project (see <daemons> in config.xml): mod_proxy_fcgi. Uploads: mod_cgid or "
                   "mod_cgi.";
    }
    return "";
}

std::string needs_module(const NewProject& project, const std::string& module) {
    return fmt::format("<IfModule !mod_{0}.c>\n    Error \"{1} needs mod_{0}: a2enmod {0}\"\n</IfModule>\n", module,
                       project.short_name);
}

/// Without the module Apache would serve the programs' files.
std::string module_checks(const NewProject& project, CgiVariant gateway) {
    std::string text = "<IfModule !mod_cgid.c>\n    <IfModule !mod_cgi.c>\n        Error \"" + project.short_name +
                       " needs mod_cgid or mod_cgi: a2enmod cgid\"\n    </IfModule>\n</IfModule>\n";
    if (gateway == CgiVariant::kFcgid) text += needs_module(project, "fcgid");
    if (gateway == CgiVariant::kProxy) text += needs_module(project, "proxy_fcgi");
    return text;
}

/// Environment of the scheduler and the upload handler.
std::vector<std::pair<std::string, std::string>> environment_of(const NewProject& project) {
    std::vector<std::pair<std::string, std::string>> environment{{"BOINC_PROJECT_DIR", project.root.string()}};
    if (!project.db_socket.empty()) environment.emplace_back("MYSQL_UNIX_PORT", project.db_socket);
    return environment;
}

std::string httpd_conf(const NewProject& project, TemplateValues values, CgiVariant gateway) {
    const std::string url = "/" + project.short_name + "_cgi";
    const std::string cgi_bin = project.root.string() + "/cgi-bin";
    std::string directory, before;
    for (const auto& [name, value] : environment_of(project)) {
        directory += fmt::format("    SetEnv {} \"{}\"\n", name, value);
        before += fmt::format(" \\\n    InitialEnv \"{}={}\"", name, value);
    }
    const std::string scheduler =
        "    SetHandler cgi-script\n    <Files \"cgi\">\n        SetHandler {}\n    </Files>\n";
    switch (gateway) {
        case CgiVariant::kCgi: values["CGI_ALIAS"] = fmt::format("ScriptAlias {} \"{}\"", url, cgi_bin); break;
        case CgiVariant::kFcgid:
            directory += fmt::format(fmt::runtime(scheduler), "fcgid-script");
            // mod_fcgid refuses requests above 128 KB unless told otherwise: a client reports much more after a
            // pause.
            values["CGI_ALIAS"] = fmt::format(
                "Alias {0} \"{1}\"\nFcgidMaxRequestLen 67108864\nFcgidCmdOptions \"{1}/cgi\" \\\n"
                "    MaxProcesses 16 IOTimeout 300 ConnectTimeout 20{2}",
                url, cgi_bin, before);
            break;
        case CgiVariant::kProxy:
            directory += fmt::format(
                fmt::runtime(scheduler),
                fmt::format("\"proxy:unix:{}/pid_{}/cgi.sock|fcgi://localhost\"", project.root.string(), project.host));
            values["CGI_ALIAS"] = fmt::format("Alias {} \"{}\"", url, cgi_bin);
            break;
    }
    values["CGI_DIRECTORY"] = directory;
    values["VARIANT_NOTE"] = variant_note(gateway);
    values["MODULE_CHECKS"] = module_checks(project, gateway);
    return fill_template(template_text("httpd_common.conf"), values, Escape::kNone);
}

/// nginx runs no programs itself: fcgiwrap does, or the scheduler is a daemon of the project.
std::string nginx_conf(const NewProject& project, TemplateValues values, const std::string& file, bool own_server) {
    const std::string root = project.root.string();
    std::string environment;
    for (const auto& [name, value] : environment_of(project))
        environment += fmt::format("    fastcgi_param {} \"{}\";\n", name, value);
    values["NGINX_FILE"] = file;
    values["NGINX_ENVIRONMENT"] = environment;
    values["NGINX_SCHEDULER"] =
        own_server ? fmt::format("unix:{}/pid_{}/cgi.sock", root, project.host) : "unix:/run/fcgiwrap.socket";
    values["NGINX_NOTE"] = own_server ? "The scheduler is a daemon of the project (see <daemons> in config.xml)."
                                      : "The scheduler goes by fcgiwrap, too: a process a request.";
    return fill_template(template_text("nginx.conf"), values, Escape::kNone);
}

std::string program_of(const std::string& cmd) {
    const std::string program = cmd.substr(0, cmd.find(' '));
    return program.substr(program.rfind('/') + 1);
}

/// At level 1 the rules of batches are on: the programs that carry them out run from the start, unless they are given.
std::string daemon_entries(const NewProject& project) {
    std::string text;
    const auto is_batches = [](const std::string& cmd) { return program_of(cmd) == "batches"; };
    if (project.compat_level > 0 && std::ranges::none_of(project.daemons, is_batches))
        text += "    <daemon>\n      <cmd>batches</cmd>\n    </daemon>\n";
    for (std::size_t i = 0; i < project.daemons.size(); ++i) {
        const std::string& cmd = project.daemons[i];
        text += fmt::format("    <daemon>\n      <cmd>{}</cmd>\n      <output>{}_{}.log</output>\n    </daemon>\n",
                            xml_escape(cmd), xml_escape(program_of(cmd)), i + 1);
    }
    return text;
}

/// At level 1 what serves size classes and batches runs from the start; it does nothing in a project without them.
std::vector<std::string> tasks_of(const NewProject& project) {
    std::vector<std::string> tasks = {"24 hours: antique_file_deleter -d 3", "1 days: update_stats",
                                      "1 hour: rotate_logs"};
    if (project.compat_level > 0) tasks.emplace_back("24 hours: size_census");
    tasks.insert(tasks.end(), project.tasks.begin(), project.tasks.end());
    return tasks;
}

std::string task_entries(const NewProject& project) {
    std::string text;
    for (const std::string& task : tasks_of(project)) {
        const std::size_t colon = task.find(':');
        if (colon == std::string::npos) throw ConfigError("--task '" + task + "' must be PERIOD: COMMAND");
        text += fmt::format("    <task>\n      <cmd>{}</cmd>\n      <period>{}</period>\n    </task>\n",
                            xml_escape(trim(task.substr(colon + 1))), xml_escape(trim(task.substr(0, colon))));
    }
    return text;
}

std::string platform_entries() {
    std::string text;
    for (const Platform& platform : parse_project_xml(template_text("project.xml"), "project.xml").platforms) {
        text += fmt::format(
            "        <platform>\n            <platform_name>{}</platform_name>\n"
            "            <user_friendly_name>{}</user_friendly_name>\n        </platform>\n",
            xml_escape(platform.name), xml_escape(platform.user_friendly_name));
    }
    return text;
}

std::string web_user_note(const NewProject& project) {
    if (project.web_user_in_group) return "";
    const std::string user = project.web_user.empty() ? "WEB_SERVER_USER" : project.web_user;
    return fmt::format(
        "   The web server must be able to write upload/ and its logs in log_{}/:\n"
        "       sudo usermod -aG $(stat -c %G {}/upload) {} && sudo systemctl restart apache2\n",
        project.host, for_shell(project.root.string()), user);
}

TemplateValues values_of(const NewProject& project) {
    TemplateValues values{
        {"ROOT", project.root.string()},
        {"ROOT_WORD", for_shell(project.root.string())},
        {"SHORT_NAME", project.short_name},
        {"LONG_NAME", project.long_name},
        {"HOST", project.host},
        {"OWNER", project.owner},
        {"MASTER_URL", project.master_url()},
        {"SCHEDULER_URL", project.scheduler_url()},
        {"DOWNLOAD_URL", project.master_url() + "download"},
        {"UPLOAD_URL", project.url_base + "/" + project.short_name + "_cgi/file_upload_handler"},
        {"DB_NAME", project.db_name},
        {"DB_HOST", project.db_host},
        {"DB_USER", project.db_user},
        {"DB_PASSWD", project.db_passwd},
        {"RAW_DB_SSL_CA", project.db_ssl_ca.empty()
                              ? ""
                              : fmt::format("    <db_ssl_ca>{}</db_ssl_ca>\n", xml_escape(project.db_ssl_ca))},
        {"SHMEM_KEY", fmt::format("0x{:08x}", project.shmem_key)},
        {"FANOUT", std::to_string(kFanout)},
        {"RAW_HTTPD_USER", project.web_user.empty()
                               ? ""
                               : fmt::format("    <httpd_user>{}</httpd_user>\n", xml_escape(project.web_user))},
        {"COMPAT_LEVEL", std::to_string(project.compat_level)},
        {"NO_CERTIFICATES", project.upload_certificates ? "0" : "1"},
        {"RAW_DAEMONS", daemon_entries(project)},
        {"RAW_TASKS", task_entries(project)},
        {"RAW_MATCHMAKING", std::string(project.compat_level > 0 ? template_text("matchmaking.xml") : "")},
        {"RAW_PLATFORMS", platform_entries()},
        {"WEB_USER_NOTE", web_user_note(project)},
        {"AS_USER", project.user.empty() ? "" : "sudo -u " + project.user + " "},
        {"CRONTAB", project.user.empty() ? "crontab" : "sudo crontab -u " + project.user},
        {"CRON_ENVIRONMENT", ""},
        {"UNIT_ENVIRONMENT", ""},
        {"WEB_GROUP", project.web_group},
        {"DB_SOCKET_NOTE", ""},
    };
    if (!project.db_socket.empty()) {
        values["CRON_ENVIRONMENT"] = "MYSQL_UNIX_PORT=" + project.db_socket + " ";  // its line alone may be copied
        values["UNIT_ENVIRONMENT"] = "Environment=MYSQL_UNIX_PORT=" + project.db_socket + "\n";
        values["DB_SOCKET_NOTE"] =
            "The database's socket is not the default one. In every shell that runs programs of this "
            "project:\n       export MYSQL_UNIX_PORT=" +
            project.db_socket;
    }
    return values;
}

/// What stands in config.xml and its like: PHP pages and Python tools must be able to read it back.
void check_texts(const NewProject& project) {
    std::vector<std::pair<const char*, std::string>> texts{
        {"The project's long name", project.long_name}, {"The project's folder", project.root.string()},
        {"The database's host", project.db_host},       {"The database's user", project.db_user},
        {"The database's password", project.db_passwd}, {"--db_ssl_ca", project.db_ssl_ca},
        {"This computer's name", project.host}};
    for (const std::string& daemon : project.daemons) texts.emplace_back("--daemon", daemon);
    for (const std::string& task : project.tasks) texts.emplace_back("--task", task);
    for (const auto& [what, text] : texts) {
        if (!fits_into_xml(text))
            throw ConfigError(fmt::format(
                "{} can't stand in an XML file, and config.xml is one: use UTF-8 without control characters", what));
    }
}

}  // namespace

void check_new_project(const NewProject& project) {
    check_texts(project);
    check_characters("The project's short name", project.short_name, "_");
    check_folder(project.root.string());
    check_characters("The database's name", project.db_name, "_-");
    if (project.short_name.size() > 60) throw ConfigError("The project's short name has more than 60 letters");
    if (!project.db_socket.empty()) check_characters("The database's socket", project.db_socket, "/._-+");
    if (project.long_name.empty() || project.long_name.find_first_of("\n\r<>") != std::string::npos) {
        throw ConfigError("The project's long name must be one line without < and >");
    }
    const bool web = project.url_base.starts_with("http://") || project.url_base.starts_with("https://");
    const std::size_t begin = project.url_base.find("//") + 2;
    if (!web || project.url_base.size() <= begin || project.url_base.ends_with('/')) {
        throw ConfigError("--url_base '" + in_one_line(project.url_base) + "' must look like http://host.example.org");
    }
    check_characters("The host and path of --url_base", project.url_base.substr(begin), ".-_:/~[]");
}

std::vector<NewFile> files_of(const NewProject& project) {
    const TemplateValues values = values_of(project);
    const auto xml = [&](const char* name) { return fill_template(template_text(name), values, Escape::kXml); };
    const auto plain = [&](const char* name) { return fill_template(template_text(name), values, Escape::kNone); };
    const std::string scheduler = project.scheduler_url();
    const std::string nginx = project.short_name + ".nginx.conf";
    const std::string nginx_server = project.short_name + ".nginx.proxy.conf";
    std::vector<NewFile> files{
        {"config.xml", xml("config.xml"), 0640},  // it holds the database's password
        {"project.xml", xml("project.xml"), 0644},
        {"gui_urls.xml", xml("gui_urls.xml"), 0644},
        {"db_dump_spec.xml", xml("db_dump_spec.xml"), 0644},
        {"bin/keep_result", plain("keep_result"), 0755},
        // What upstream's upgrade_db.php calls db/schema.sql: without it, it offers every update since 2009.
        {"db_revision", "27032\n", 0644},
        {"html/user/index.html", xml("index.html"), 0644},
        {"html/user/schedulers.txt",
         fmt::format("<!-- <scheduler>{0}</scheduler> -->\n<link rel=\"boinc_scheduler\" href=\"{0}\">\n", scheduler),
         0644},
        {"html/user/get_project_config.php", xml("get_project_config.xml"), 0644},
        {"html/user/lookup_account.php", xml("no_web_accounts.xml"), 0644},
        {"html/user/create_account.php", xml("no_web_accounts.xml"), 0644},
        {project.short_name + ".httpd.conf", httpd_conf(project, values, CgiVariant::kCgi), 0644},
        {project.short_name + ".httpd.fcgi.conf", httpd_conf(project, values, CgiVariant::kFcgid), 0644},
        {project.short_name + ".httpd.proxy.conf", httpd_conf(project, values, CgiVariant::kProxy), 0644},
        {nginx, nginx_conf(project, values, nginx, false), 0644},
        {nginx_server, nginx_conf(project, values, nginx_server, true), 0644},
        {project.short_name + ".cronjob", plain("cronjob"), 0644},
        {project.short_name + ".logrotate", plain("logrotate"), 0644},
        {project.short_name + ".scheduler.service", plain("scheduler.service"), 0644},
        {project.short_name + ".readme", plain("readme"), 0644},
    };
    // The web server may write these two, but make or rename nothing beside them.
    for (const char* name : kWebLogs) files.push_back({"log_" + project.host + "/" + name, "", 0660});
    return files;
}

/// The web server may write in its two folders only; the project's user writes everywhere else. Files there are run,
/// signed or trusted. Logs hold addresses of volunteers: others do not read them.
std::vector<NewFolder> folders_of(const NewProject& project) {
    return {{"", 0755, false},
            {"apps", 0755, false},
            {"archives", 0750, false},
            {"bin", 0755, false},
            {"cgi-bin", 0755, false},
            {"download", 0755, false},
            {"html/user", 0755, false},
            {"html/stats", 0755, false},
            {"html/cache", 02770, true},
            {"keys", 0755, false},
            {"log_" + project.host, 02750, true},
            {"pid_" + project.host, 02750, true},
            {"results", 0755, false},
            {"templates", 0755, false},
            {"tmp_" + project.host, 0750, false},
            {"upload", 02770, true}};
}

}  // namespace sluice
