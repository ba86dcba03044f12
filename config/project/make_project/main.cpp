// SPDX-License-Identifier: LGPL-3.0-or-later
// make_project: a new project, ready for its apps: folders, keys, database, config.xml, pages that clients
// attach by, Apache fragments, cron line. Stands for upstream's make_project; options that both have mean the
// same.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "config/load.h"
#include "config/options/web_access.h"
#include "config/project/add_rows.h"
#include "config/project/make_project/install.h"
#include "config/project/new_project.h"
#include "config/run/own_programs.h"
#include "config/run/process_lock.h"
#include "sluice/base/clock.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "sluice/base/rng.h"
#include "sluice/base/users.h"
#include "sluice/daemon/program.h"
#include "sluice/db/database.h"
#include "sluice/db/database_maker.h"

namespace sluice {
namespace {

struct DatabaseOptions {
    bool none = false;                     ///< --no_db
    bool drop_first = false;               ///< --drop_db_first
    bool keep = false;                     ///< --keep_db: use the tables that are there
    std::string admin_user, admin_passwd;  ///< not empty: makes the database and its user
};

/// Makes a new project's database; what it has made is dropped at the end unless keep() was called.
class ProjectDatabase {
  public:
    ProjectDatabase(const NewProject& project, const DatabaseOptions& options);
    ProjectDatabase(const ProjectDatabase&) = delete;
    ProjectDatabase& operator=(const ProjectDatabase&) = delete;
    ~ProjectDatabase();
    /// Throws ConfigError if there is a project in the database already and nothing was said about it.
    void check();
    /// Database, user and rights, tables, platforms.
    void make();
    void keep() { kept_ = true; }

  private:
    DbSettings account() const;
    void check_login() const;
    const NewProject& project_;
    const DatabaseOptions& options_;
    Database admin_;
    bool kept_ = false, created_ = false, account_made_ = false;
};

DbSettings admin_settings(const NewProject& project, const DatabaseOptions& options) {
    DbSettings settings;
    settings.host = project.db_host;
    settings.ssl_ca = project.db_ssl_ca;
    const bool admin = !options.admin_user.empty();
    settings.user = admin ? options.admin_user : project.db_user;
    settings.password = admin ? options.admin_passwd : project.db_passwd;
    return settings;
}

/// From where the project's account comes in.
const char* from_host(const NewProject& project) {
    return project.db_host.empty() || project.db_host == "localhost" ? "localhost" : "%";
}

ProjectDatabase::ProjectDatabase(const NewProject& project, const DatabaseOptions& options)
    : project_(project), options_(options), admin_(admin_settings(project, options)) {}

ProjectDatabase::~ProjectDatabase() {
    if (kept_) return;
    try {
        DatabaseMaker maker(admin_);
        if (created_) maker.drop(project_.db_name);
        if (account_made_) maker.drop_account(project_.db_user, from_host(project_));
    } catch (const DbError&) {  // the failure that brought us here is being said
    }
}

DbSettings ProjectDatabase::account() const {
    DbSettings settings;
    settings.host = project_.db_host;
    settings.ssl_ca = project_.db_ssl_ca;
    settings.name = project_.db_name;
    settings.user = project_.db_user;
    settings.password = project_.db_passwd;
    return settings;
}

void ProjectDatabase::check() {
    try {
        const DatabaseState state = DatabaseMaker(admin_).state(project_.db_name);
        if (state != DatabaseState::kInUse || options_.drop_first || options_.keep) return;
    } catch (const DbError& error) {
        throw ConfigError(fmt::format(
            "{} (in place of config.xml, which is not there yet: the options --db_host, --db_socket, {})", error.what(),
            options_.admin_user.empty() ? "--db_user and --db_passwd_file" : "--db_admin and --db_admin_passwd_file"));
    }
    throw ConfigError(
        fmt::format("The database '{}' has tables already: choose another --db_name, or say --keep_db to use "
                    "them as they are, or --drop_db_first to lose them",
                    project_.db_name));
}

/// A server that knows accounts by their sockets lets root in where it refuses the project's programs.
void ProjectDatabase::check_login() const {
    const auto owner = account_of(project_.user);
    if (!owner) return;
    const ActingAs as_owner(*owner);
    try {
        Database(account()).connect();
    } catch (const DbError& error) {
        throw ConfigError(fmt::format(
            "{}; the project's programs run as {}: with --db_admin root and another --db_user, an account for "
            "them is made",
            error.what(), project_.user));
    }
}

void ProjectDatabase::make() {
    DatabaseMaker maker(admin_);
    DatabaseState state = maker.state(project_.db_name);
    if (options_.drop_first && state != DatabaseState::kAbsent) {
        maker.drop(project_.db_name);
        state = DatabaseState::kAbsent;
    }
    try {
        if (state == DatabaseState::kAbsent) {
            maker.create(project_.db_name);
            created_ = true;
        }
        if (!options_.admin_user.empty()) account_made_ = maker.grant(project_.db_name, account(), from_host(project_));
    } catch (const DbError& error) {
        throw ConfigError(
            fmt::format("{} (an account that may make databases and users: --db_admin root)", error.what()));
    }
    check_login();
    Database db(account());
    if (state != DatabaseState::kInUse) load_schema(db);
    const auto store = make_project_setup_store(db);
    const ProjectXml rows = parse_project_xml(template_text("project.xml"), "project.xml");
    db.transaction([&] { add_rows(*store, rows, SystemClock().now_sec(), OfExisting::kKeep); });
}

namespace fs = std::filesystem;

struct ProjectArguments {
    NewProject project;
    InstallSource source;
    DatabaseOptions database;
    bool no_certificates = false;
    bool no_query = false;         ///< nothing is ever asked here
    bool delete_previous = false;  ///< --delete_prev_inst
    std::string project_host;
    std::string passwd_file, admin_passwd_file;
};

std::string home() {
    const char* from_environment = std::getenv("HOME");
    return from_environment == nullptr ? "/" : from_environment;
}

std::string usual_web_user() {
    const auto& names = usual_web_users();
    const auto found = std::ranges::find_if(names, [](const auto& name) { return find_user(name).has_value(); });
    return found == names.end() ? "" : *found;
}

std::string full_host_name() {
    char name[256] = {};
    if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
    addrinfo hints{};
    hints.ai_flags = AI_CANONNAME;
    addrinfo* found = nullptr;
    std::string full = name;
    if (::getaddrinfo(name, nullptr, &hints, &found) == 0 && found != nullptr) {
        if (found->ai_canonname != nullptr) full = found->ai_canonname;
        ::freeaddrinfo(found);
    }
    return full;
}

void add_options(CommandLine& line, ProjectArguments& arguments, std::vector<std::string>& names, std::string& root) {
    NewProject& project = arguments.project;
    line.option("--root,--project_root", root, "The project's folder (default: ~/projects/NAME).", "DIR");
    line.option("--name", project.short_name, "The short name, which its URLs hold.", "NAME");
    line.option("--long_name", project.long_name, "The name that volunteers see (default: the short one).", "TEXT");
    line.option("--url_base", project.url_base, "The web server (default: http:// and this host's name).", "URL");
    line.option("--project_host", arguments.project_host, "The web server's name, if there is no --url_base.", "HOST");
    line.option("--db_name", project.db_name, "The database (default: the short name).", "NAME");
    line.option("--db_host", project.db_host, "Its host, HOST or HOST:PORT (default: this one, by its socket).",
                "HOST");
    line.option("--db_socket", project.db_socket, "Its socket, if not the usual one.", "PATH");
    line.option(
        "--db_ssl_ca", project.db_ssl_ca,
        "PEM file of the authority that signed its certificate: the connection to --db_host is encrypted, now and by "
        "<db_ssl_ca> in config.xml.",
        "FILE");
    line.option("--db_user", project.db_user, "Its user (default: you).", "NAME");
    line.option("--db_passwd", project.db_passwd,
                "That user's password; everybody on this machine can read it while this program runs.", "TEXT");
    line.option("--db_passwd_file", arguments.passwd_file, "A file whose first line is that user's password.", "FILE");
    line.option("--db_admin", arguments.database.admin_user,
                "Makes the database and the user as this account of the database server (often root).", "NAME");
    line.option("--db_admin_passwd", arguments.database.admin_passwd, "That account's password; see --db_passwd.",
                "TEXT");
    line.option("--db_admin_passwd_file", arguments.admin_passwd_file, "A file whose first line is that password.",
                "FILE");
    line.flag("--no_db", arguments.database.none, "Make no database.");
    line.flag("--keep_db", arguments.database.keep, "Use a database that has tables already, as it is.");
    line.flag("--drop_db_first", arguments.database.drop_first,
              "Drop a database of that name first: all in it is lost.");
    line.option("--user", project.user, "Who runs the project; needed if you are root (default: you).", "NAME");
    line.option("--web_user", project.web_user, "Who the web server runs as (default: www-data or the like).", "NAME");
    line.flag("--copy", arguments.source.copy,
              "Copy the programs into bin/ and cgi-bin/; otherwise what stands there becomes the installed ones.");
    line.flag("--no_upload_certificates", arguments.no_certificates,
              "Accept uploads without a signature, as upstream's projects do.");
    line.option("--compat_level", project.compat_level, "1: Sluice's defaults (default), 0: upstream's.", "N");
    line.flag(
        "--delete_prev_inst", arguments.delete_previous,
        "Delete the project that is in that folder, with all its files, when the new one is made. Its database stays: see "
        "--drop_db_first.");
    line.flag("--no_query", arguments.no_query, "Accepted, as upstream's: nothing is asked here.");
    line.repeatable("--daemon", project.daemons, "Another daemon for config.xml; may be given many times.", "CMD");
    line.repeatable("--task", project.tasks, "A task for config.xml; may be given many times.", "'PERIOD: CMD'");
    line.positional(
        "NAME", names,
        "The short name, and the long one, as with upstream's make_project; with --renew_programs: programs.");
}

/// Pairs of options of which one would not count.
void refuse_without_effect(CommandLine& line) {
    for (const char* option :
         {"--db_admin", "--db_admin_passwd", "--db_admin_passwd_file", "--keep_db", "--drop_db_first"})
        line.exclude(option, "--no_db");
    for (const char* option : {"--db_admin_passwd", "--db_admin_passwd_file"}) line.require(option, "--db_admin");
    line.exclude("--db_admin_passwd", "--db_admin_passwd_file");
    line.exclude("--db_passwd", "--db_passwd_file");
    line.exclude("--keep_db", "--drop_db_first");
    line.exclude("--project_host", "--url_base");
}

/// What is not among them would have no effect where no project is made.
std::string beyond(const CommandLine& line, const std::vector<std::string>& allowed, const char* why) {
    for (const std::string& option : line.given())
        if (std::ranges::find(allowed, option) == allowed.end())
            return fmt::format("{} has no effect with {}: leave it out; {}", option, allowed[0], why);
    return "";
}

std::string problem_of_names(const NewProject& project, const std::vector<std::string>& names) {
    if (project.short_name.empty() && names.empty()) return "--name is required";
    if (names.size() > 2) return "more than a short and a long name given";
    if (!project.short_name.empty() && !names.empty())
        return fmt::format("'{}' has no effect with --name: leave it out, or --name", names[0]);
    if (!project.long_name.empty() && names.size() > 1)
        return fmt::format("'{}' has no effect with --long_name: leave one out", names[1]);
    return "";
}

/// A password stands in a file so that it does not stand in a command line, which everybody can read.
void read_password(const std::string& file, std::string& password) {
    if (file.empty()) return;
    const auto text = read_file(file, 4096);
    if (!text) throw ConfigError("The password file " + file + " does not exist");
    password = text->substr(0, text->find_first_of("\r\n"));
    if (password.empty()) throw ConfigError("The first line of the password file " + file + " is empty");
}

/// A project of root's would run as root: a stranger in one of its folders would be root.
void check_user(const std::string& owner) {
    if (::geteuid() != 0) {
        if (owner.empty() || owner == user_name(::geteuid())) return;
        throw ConfigError("Only root can make a project for another user: leave --user out, or use sudo");
    }
    const char* allowed = std::getenv("SLUICE_ALLOW_ROOT");
    if (owner.empty() && allowed != nullptr && std::strcmp(allowed, "1") == 0) return;
    if (owner.empty() || owner == "root")
        throw ConfigError(
            "As root, say who runs the project with --user NAME. A user of its own: adduser --system --group --home "
            "/srv/boinc boincadm");
    if (!find_user(owner))
        throw ConfigError(fmt::format("There is no user '{0}': adduser --system --group --home /srv/boinc {0}", owner));
}

fs::path prefix_of(const std::string& given) {
    return given.empty() ? own_prefix() : fs::absolute(given).lexically_normal();
}

/// What was not said.
void fill_in(ProjectArguments& arguments, const std::vector<std::string>& names, const std::string& root,
             const std::string& prefix) {
    NewProject& project = arguments.project;
    if (project.short_name.empty() && !names.empty()) project.short_name = names[0];
    if (project.long_name.empty()) project.long_name = names.size() > 1 ? names[1] : project.short_name;
    const fs::path folder = root.empty() ? fs::path(home()) / "projects" / project.short_name : fs::path(root);
    project.root = fs::absolute(folder).lexically_normal();
    if (!project.root.has_filename()) project.root = project.root.parent_path();  // "dir/"
    if (project.url_base.empty())
        project.url_base = "http://" + (arguments.project_host.empty() ? full_host_name() : arguments.project_host);
    while (project.url_base.ends_with('/')) project.url_base.pop_back();
    if (project.db_name.empty()) project.db_name = project.short_name;
    const std::string user = project.user.empty() ? user_name(::geteuid()) : project.user;
    if (project.db_user.empty()) project.db_user = user;
    if (project.web_user.empty()) project.web_user = usual_web_user();
    if (const auto web = find_user(project.web_user)) project.web_group = group_name(web->gid);
    read_password(arguments.passwd_file, project.db_passwd);
    read_password(arguments.admin_passwd_file, arguments.database.admin_passwd);
    if (!arguments.database.admin_user.empty() && project.db_passwd.empty()) project.db_passwd = random_hex(12);
    project.host = short_host_name();
    const auto account = find_user(project.user);
    project.owner = user + " " + group_name(account ? account->gid : ::getegid());
    project.upload_certificates = !arguments.no_certificates;
    project.shmem_key = 0x11110000u + static_cast<std::uint32_t>(make_system_rng()->below(0x10000));
    arguments.source.prefix = prefix_of(prefix);
    if (!project.db_ssl_ca.empty()) project.db_ssl_ca = fs::absolute(project.db_ssl_ca).lexically_normal();
    if (!project.db_socket.empty()) ::setenv("MYSQL_UNIX_PORT", project.db_socket.c_str(), 1);
}

/// Daemons and tasks, also those that were started by hand, or on another host that shares the folder.
bool something_runs(const fs::path& root) {
    for (const auto& entry : fs::directory_iterator(root)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("run_lock_") && !guard_holders(entry.path()).empty()) return true;
        if (!name.starts_with("pid_") || !entry.is_directory()) continue;
        for (const auto& lock : fs::directory_iterator(entry.path())) {
            const fs::path kind = lock.path().extension();
            if ((kind == ".lock" || kind == ".run") && is_locked(lock.path())) return true;
        }
    }
    return !guard_holders(root / ("run_lock_" + short_host_name())).empty();  // one that was deleted
}

/// Of Sluice or upstream: other programs have a config.xml, too.
bool is_project(const fs::path& root) {
    if (fs::is_symlink(root)) return false;
    for (const char* folder : {"bin", "cgi-bin", "keys", "html"})
        if (!fs::is_directory(root / folder)) return false;
    const auto text = read_file(root / "config.xml");
    if (!text) return false;
    try {
        return !parse_config(*text, "config.xml").config.db_name.empty();
    } catch (const ConfigError&) {
        return false;
    }
}

/// Only what is a project, and does not run, may be deleted.
void check_previous(const fs::path& root) {
    std::error_code error;
    if (!fs::exists(root, error) || (fs::is_directory(root, error) && fs::is_empty(root, error))) return;
    if (!is_project(root))
        throw ConfigError(
            fmt::format("--delete_prev_inst: {} is no project (bin, cgi-bin, keys, html, and a config.xml with "
                        "<db_name>): delete it by hand, or choose another --root",
                        root.string()));
    if (something_runs(root))
        throw ConfigError(
            fmt::format("--delete_prev_inst: daemons of {0} run: {0}/bin/stop ends those that start "
                        "started; end others by hand",
                        root.string()));
}

/// The project that stood in the folder: beside it until the new one is there, then deleted; else it comes back.
class PreviousProject {
  public:
    explicit PreviousProject(const fs::path& root)
        : root_(root), aside_(root.parent_path() / ("." + root.filename().string() + ".previous")) {
        std::error_code error;
        if (fs::exists(fs::symlink_status(aside_, error)))
            throw ConfigError(fmt::format(
                "{0} is there: make_project was ended while it replaced that project. Rename it to {1}, or delete it",
                aside_.string(), root.string()));
        if (!fs::exists(root) || fs::is_empty(root)) return;
        fs::rename(root_, aside_, error);
        if (error)
            throw FileError(fmt::format("--delete_prev_inst: {} can't be moved aside to {}: {}; empty it by hand",
                                        root_.string(), aside_.string(), error.message()));
        moved_ = true;
    }
    PreviousProject(const PreviousProject&) = delete;
    PreviousProject& operator=(const PreviousProject&) = delete;
    ~PreviousProject() {
        if (!moved_) return;
        std::error_code error;
        fs::rename(aside_, root_, error);
        if (error)
            fmt::print(stderr, "make_project: the previous project is in {}: {}\n", aside_.string(), error.message());
    }
    void remove() {
        if (!std::exchange(moved_, false)) return;
        std::error_code error;
        fs::remove_all(aside_, error);
        if (error)
            fmt::print(stderr, "make_project: warning: {} of the previous project can't be deleted: {}\n",
                       aside_.string(), error.message());
    }

  private:
    fs::path root_, aside_;
    bool moved_ = false;
};

void make(ProjectArguments& arguments) {
    NewProject& project = arguments.project;
    // Everything that can be refused is refused before anything is made.
    check_new_project(project);
    if (arguments.delete_previous)
        check_previous(project.root);
    else
        check_new_folder(project);
    check_prefix(arguments.source.prefix);
    ProjectDatabase database(project, arguments.database);
    if (!arguments.database.none) database.check();
    std::optional<PreviousProject> previous;
    if (arguments.delete_previous) previous.emplace(project.root);
    ProjectOnDisk disk(project, arguments.source);
    disk.make();
    if (!arguments.database.none) database.make();
    disk.give_to_owner();
    disk.keep();
    database.keep();
    if (previous) previous->remove();
}

/// The second step after --no_db, as boinc-server-docker makes projects: files in an image, the database at first
/// start.
int make_database(const std::string& folder, ProjectArguments& arguments) {
    const fs::path root = fs::absolute(folder).lexically_normal();
    const ProjectConfig config = load_config_and_warn(root);
    NewProject& project = arguments.project;
    project.db_name = config.db_name, project.db_host = config.db_host, project.db_ssl_ca = config.db_ssl_ca;
    project.db_user = config.db_user, project.db_passwd = config.db_passwd;
    if (!arguments.database.admin_user.empty() && project.db_passwd.empty())
        throw ConfigError(fmt::format("{}: <db_passwd> is empty: give a password there; {} gets an account with it",
                                      (root / "config.xml").string(), project.db_user));
    read_password(arguments.admin_passwd_file, arguments.database.admin_passwd);
    if (!project.db_socket.empty()) ::setenv("MYSQL_UNIX_PORT", project.db_socket.c_str(), 1);
    ProjectDatabase database(project, arguments.database);
    database.check();
    database.make();
    database.keep();
    fmt::print("The database '{}' of {} is made\n", project.db_name, root.string());
    return 0;
}

int renew(const std::string& project, const std::string& prefix, bool copy, const std::vector<std::string>& names) {
    const fs::path root = fs::canonical(project);
    renew_programs(root, {prefix_of(prefix), copy}, names);
    fmt::print("{} has the programs of {}{}\n", root.string(), prefix_of(prefix).string(),
               names.empty() ? "" : ": " + fmt::format("{}", fmt::join(names, ", ")));
    return 0;
}

int run(int argc, const char* const* argv) {
    CommandLine line(
        "make_project", "Makes a new project",
        "Makes the project's folder with keys, config.xml, a page that clients attach by, Apache "
        "configuration and a cron line, and its database. An existing project is never touched, unless you say "
        "--delete_prev_inst.");
    ProjectArguments arguments;
    std::vector<std::string> names;
    std::string root, prefix, renewed, without_database;
    add_options(line, arguments, names, root);
    line.option("--only_db", without_database,
                "Make no project: make the database of PROJECT, which was made with --no_db, as its config.xml says. "
                "--db_admin, --keep_db and --drop_db_first hold here, too.",
                "PROJECT");
    line.option("--renew_programs", renewed,
                "Make no project: put the programs of PROJECT anew into its bin/ and cgi-bin/, those whose names are "
                "given, or all. Nothing else is touched.",
                "PROJECT");
    line.option("--install_from", prefix, "Where Sluice is installed (default: where this program is).", "PREFIX");
    line.section("EXAMPLES",
                 "sudo make_project --user boincadm --db_admin root --root /srv/boinc/tiles --name tiles --url_base "
                 "http://tiles.example.org\n"
                 "make_project --no_db tiles 'Tiles of the plane'\n"
                 "make_project --only_db ~/projects/tiles --db_admin root");
    line.section("EXIT STATUS", "0: the project is there. 1: it is not; whatever had been made is gone again.");
    refuse_without_effect(line);
    if (const auto status = line.parse(argc, argv)) return *status;
    ::umask(022);
    if (!renewed.empty()) {
        const std::string wrong =
            beyond(line, {"--renew_programs", "--install_from", "--copy"}, "nothing else is made");
        return wrong.empty() ? renew(renewed, prefix, arguments.source.copy, names) : line.fail(wrong);
    }
    if (!without_database.empty()) {
        std::string wrong = beyond(line,
                                   {"--only_db", "--db_socket", "--db_admin", "--db_admin_passwd",
                                    "--db_admin_passwd_file", "--keep_db", "--drop_db_first", "--no_query"},
                                   "PROJECT/config.xml says it");
        if (!names.empty()) wrong = fmt::format("'{}' has no effect with --only_db: leave it out", names[0]);
        return wrong.empty() ? make_database(without_database, arguments) : line.fail(wrong);
    }
    if (const std::string wrong = problem_of_names(arguments.project, names); !wrong.empty()) return line.fail(wrong);
    if (arguments.project.compat_level < 0 || arguments.project.compat_level > 1)
        return line.fail("--compat_level is 0 or 1");
    check_user(arguments.project.user);
    fill_in(arguments, names, root, prefix);
    make(arguments);
    const NewProject& project = arguments.project;
    fmt::print("{} is made. What comes next is in {}/{}.readme\n", project.long_name, project.root.string(),
               project.short_name);
    if (!project.web_user_in_group) {
        fmt::print("The web server's user can't write upload/ and log_{}/ yet: the readme says what to do.\n",
                   project.host);
    }
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    return sluice::tool_main({}, [&] { return sluice::run(argc, argv); });
}
