// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A file of config/templates, as it was when this program was built; empty: there is none of that name.
std::string_view template_text(std::string_view name);

using TemplateValues = std::map<std::string, std::string, std::less<>>;

enum class Escape { kNone, kXml };
/// Replaces every @NAME@ (capitals and underscores). Values are escaped for XML, except those whose names
/// begin with "RAW_". Throws Error if a name has no value.
std::string fill_template(std::string_view text, const TemplateValues& values, Escape escape);

// What make_project makes, as values: checked settings in, texts of files out. Nothing is written here.

/// <uldl_dir_fanout> of a new project.
inline constexpr int kFanout = 1024;

struct NewProject {
    std::filesystem::path root;  ///< absolute
    std::string short_name, long_name;
    std::string url_base;  ///< http://host
    std::string host;      ///< short host name
    std::string db_name, db_user, db_passwd, db_host;
    std::string db_socket;               ///< empty: the default one
    std::string db_ssl_ca;               ///< empty: a connection over TCP is not encrypted
    std::string web_user;                ///< who Apache runs as; empty: not known
    std::string web_group = "www-data";  ///< the group of web_user
    std::string owner;                   ///< "USER GROUP" who own the project's files, for logrotate
    std::string user;                    ///< who runs the project; empty: the user who runs make_project
    bool web_user_in_group = false;      ///< it can write the folders that need it
    bool upload_certificates = true;
    int compat_level = 1;
    std::uint32_t shmem_key = 0;
    std::vector<std::string> daemons;  ///< further <cmd>s
    std::vector<std::string> tasks;    ///< "PERIOD: CMD"

    std::string master_url() const { return url_base + "/" + short_name + "/"; }
    std::string scheduler_url() const { return url_base + "/" + short_name + "_cgi/cgi"; }
};

/// Throws ConfigError: a name, URL or path that would not work in a URL, in Apache's configuration or in a
/// shell.
void check_new_project(const NewProject& project);

struct NewFile {
    std::filesystem::path name;  ///< below the root
    std::string text;
    int mode = 0644;  ///< not readable by others: the web server's group gets it
};
/// config.xml, project.xml, the pages, fragments for Apache and nginx, the cron line, the readme; keys are not among
/// them.
std::vector<NewFile> files_of(const NewProject& project);

struct NewFolder {
    std::filesystem::path name;
    int mode = 0755;
    bool for_web_user = false;  ///< its group is the web server's
};
std::vector<NewFolder> folders_of(const NewProject& project);

}  // namespace sluice
