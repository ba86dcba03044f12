// SPDX-License-Identifier: LGPL-3.0-or-later
// PHP pages over html/ of a project that make_project made, as docs/setting_up_a_project.md has them installed: with
// mod_php, with PHP-FPM and without PHP, by each shipped Apache fragment. Their text is shown to nobody.
#include <glob.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "sluice/base/users.h"
#include "tests/support/group_guard.h"
#include "tests/support/page_project.h"
#include "tests/support/paths.h"
#include "tests/support/private_apache.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

enum class Php { kNone, kModule, kFpm };

struct Served {
    ApacheMode mode;
    const char* fragment;
    Php php;
};

std::string load_module(const std::string& name, const std::string& file) {
    return "LoadModule " + name + "_module /usr/lib/apache2/modules/" + file + "\n";
}

/// The one file that a pattern names; what is missing is a failed test.
std::string file_of(const std::string& pattern) {
    glob_t found{};
    std::string first;
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) first = found.gl_pathv[0];
    ::globfree(&found);
    if (first.empty()) throw std::runtime_error("no " + pattern + ": config/install-packages --tests");
    return first;
}

class PhpPages : public testing::TestWithParam<Served> {
  protected:
    PhpPages() {
        fs::remove_all(root_ / "html");
        fs::copy(dir_ / "html", root_ / "html", fs::copy_options::recursive);
        fs::remove(root_ / "ops.htpasswd");
    }
    /// A project, and its html/ as make_project made it: one for all tests, which takes seconds to make.
    static TempDir& project() {
        static TempDir dir;
        const fs::path root = dir / "tiles";
        if (fs::exists(root)) return dir;
        fs::permissions(dir.path(), fs::perms(0755));
        make_page_project(root);
        fs::copy(root / "html", dir / "html", fs::copy_options::recursive);
        return dir;
    }
    /// Pages of our own, where upstream's would stand.
    void install_pages() {
        page("inc/util.inc", "<?php function answer() { return 'answer ' . 6 * 7; }");
        for (const char* name : {"index", "home", "get_project_config", "lookup_account", "create_account"})
            page(std::string("user/") + name + ".php",
                 "<?php require_once '../inc/util.inc'; $secret = 'passwd'; echo answer(), ' of " + std::string(name) +
                     "';");
        page("user/white.php", "\n<?php echo 'white'; $secret = 'passwd';");
        for (const char* name : {"user/a.phtml", "user/a.php5", "user/a.phps", "user/late.inc", "user/.hidden.php"})
            page(name, "<?php $secret = 'passwd';");
        page("ops/index.php", "<?php echo 'managed: ', 6 * 7;");
        page("ops/.htpasswd", "secret");
        for (const char* name :
             {"user_profile/images/1.php", "stats/1.php", "user/B.PHP", "user/a.php~", "user/a.php.bak"})
            page(name, "<?php echo 1; $secret = 'passwd';");
        page("user/feed.php", "<?xml version='1.0'?>\n<?php echo 6 * 7; $secret = 'passwd';");
        dir_.write("tiles/download/1.php", "<?php echo 6 * 7;");
    }
    void page(const std::string& name, const std::string& text) { dir_.write("tiles/html/" + name, text); }

    void serve() {
        if (GetParam().php == Php::kFpm) start_fpm();
        ApacheOptions options;
        options.mode = GetParam().mode;
        options.cgid_too = true;
        options.include = dir_.write("fragment.conf", fragment());
        for (const char* module : {"authn_core", "auth_basic", "authn_file", "authz_user"})
            options.more += load_module(module, std::string("mod_") + module + ".so");
        if (GetParam().php == Php::kModule) {
            options.prefork = true;
            options.more +=
                "LoadModule php_module " + file_of("/usr/lib/apache2/modules/libphp*.so") +
                "\n<FilesMatch \".+\\.ph(?:ar|p|tml)$\">\nSetHandler application/x-httpd-php\n</FilesMatch>\n";  // Debian
        }
        if (GetParam().php == Php::kFpm && GetParam().mode != ApacheMode::kProxy)
            options.more += load_module("proxy", "mod_proxy.so") + load_module("proxy_fcgi", "mod_proxy_fcgi.so");
        apache_ = std::make_unique<PrivateApache>(options);
    }
    /// As it is shipped; for PHP-FPM with its commented line, and the socket of this test.
    std::string fragment() const {
        std::string text = read(root_ / GetParam().fragment);
        const std::string line = "#Define tiles_php_fpm \"proxy:unix:/run/php/php-fpm.sock|";
        if (GetParam().php == Php::kFpm)
            text.replace(text.find(line), line.size(),
                         "Define tiles_php_fpm \"proxy:unix:" + fpm_socket().string() + "|");
        return text;
    }
    /// The commands of docs/setting_up_a_project.md on files; passwords and tables are not looked at here.
    void install_as_the_page_says(const fs::path& html) const {
        const std::string page = read(source_dir() + "/docs/setting_up_a_project.md");
        const std::size_t begin = page.find("cd BOINC_SOURCE\n"), end = page.find("htpasswd -c", begin);
        std::string commands = page.substr(begin, end - begin);
        const auto replace = [&](const std::string& what, const std::string& by) {
            for (std::size_t at = 0; (at = commands.find(what, at)) != std::string::npos; at += by.size())
                commands.replace(at, what.size(), by);
        };
        replace("BOINC_SOURCE", fs::absolute(html / "x").lexically_normal().parent_path().parent_path().string());
        replace("PROJECT", root_.string());
        replace("boincadm:", account_name(Role::kProject) + ":");
        if (accounts_apart())
            replace("www-data", account_name(Role::kWeb));
        else if (::geteuid() != 0)
            replace("www-data", group_name(::getegid()));
        const RunResult done = run({"/bin/sh", "-ec", commands}, {.run_as = Role::kRoot});
        ASSERT_EQ(done.status, 0) << commands << done.err;
    }
    static std::string read(const fs::path& file) {
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    fs::path fpm_socket() const { return dir_ / "fpm/socket"; }
    void start_fpm() {
        const std::string user = ::geteuid() == 0 ? "user = www-data\ngroup = www-data\nlisten.owner = www-data\n" : "";
        fs::create_directories(dir_ / "fpm");
        give(dir_ / "fpm", Role::kWeb);
        const fs::path config =
            dir_.write("fpm.conf", "[global]\nerror_log = " + (dir_ / "fpm/log").string() + "\n[tiles]\n" + user +
                                       "listen = " + fpm_socket().string() + "\npm = static\npm.max_children = 1\n");
        {
            const RightsToAllFiles rights;
            fs::remove(fpm_socket());
        }
        fpm_ = std::make_unique<Subprocess>(
            std::vector<std::string>{file_of("/usr/sbin/php-fpm*"), "--nodaemonize", "--fpm-config", config.string()},
            RunOptions{.run_as = Role::kWeb, .own_group = true});
        fpm_group_ = std::make_unique<GroupGuard>(fpm_->pid());
        if (!eventually([&] { return !fpm_->running() || fs::exists(fpm_socket()); }) || !fpm_->running())
            throw std::runtime_error("PHP-FPM does not start: " + fpm_->err() + read(dir_ / "fpm/log"));
    }
    HttpReply get(const std::string& path) { return http(apache_->port(), path); }
    HttpReply get_as(const std::string& path, const std::string& credentials) {
        return http_bytes(apache_->port(), "GET " + path + " HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Basic " +
                                               credentials + "\r\n\r\n");
    }
    bool has_php() const { return GetParam().php != Php::kNone; }

    TempDir& dir_ = project();
    fs::path root_ = dir_ / "tiles";
    std::unique_ptr<Subprocess> fpm_;
    std::unique_ptr<GroupGuard> fpm_group_;  ///< its workers, too, which outlive a master that is killed
    std::unique_ptr<PrivateApache> apache_;
};

class PhpFpm : public PhpPages {
  protected:
    /// A worker of it; 0: none.
    pid_t worker() const {
        const std::string pid = std::to_string(fpm_->pid());
        pid_t child = 0;
        std::ifstream("/proc/" + pid + "/task/" + pid + "/children") >> child;
        return child;
    }
};

TEST_F(PhpFpm, NoWorkerOutlivesTheTest) {
    start_fpm();
    ASSERT_TRUE(eventually([this] { return worker() != 0; }));
    const fs::path command = "/proc/" + std::to_string(worker()) + "/cmdline";  // empty when it has ended
    fpm_.reset();                                                               // as by SIGKILL: it ends no worker
    EXPECT_FALSE(read(command).empty());
    fpm_group_.reset();
    EXPECT_TRUE(eventually([&] { return read(command).empty(); }));
}

TEST_P(PhpPages, TheStaticAnswersStayXml) {
    serve();
    for (const char* name : {"get_project_config", "lookup_account", "create_account"}) {
        const HttpReply reply = get(std::string("/tiles/") + name + ".php?email_addr=a@b.c");
        EXPECT_EQ(reply.status, 200) << name << apache_->error_log();
        EXPECT_THAT(reply.head, HasSubstr("Content-Type: text/xml"));
        EXPECT_TRUE(reply.body.starts_with("<?xml ")) << reply.body;
    }
    EXPECT_THAT(get("/tiles/").body, HasSubstr("<scheduler>"));
}

TEST_P(PhpPages, PhpRunsOnlyWhereThePagesAre) {
    install_pages();
    serve();
    for (const char* name : {"index", "home", "get_project_config", "lookup_account", "create_account"}) {
        const HttpReply reply = get(std::string("/tiles/") + name + ".php?email_addr=a@b.c");
        EXPECT_EQ(reply.status, has_php() ? 200 : 403) << name << apache_->error_log();
        EXPECT_EQ(reply.body == "answer 42 of " + std::string(name), has_php()) << reply.body;
    }
    EXPECT_EQ(get("/tiles/nowhere.php").status, has_php() ? 404 : 403);
    EXPECT_THAT(get("/tiles/").body, HasSubstr(has_php() ? "answer 42 of index" : "<scheduler>"));
    for (const char* path : {"/tiles/",
                             "/tiles/index.php",
                             "/tiles/white.php",
                             "/tiles/white.php/x",
                             "/tiles/home%2ephp",
                             "/tiles/a.phtml",
                             "/tiles/a.php5",
                             "/tiles/a.phps",
                             "/tiles/late.inc",
                             "/tiles/.hidden.php",
                             "/tiles/B.PHP",
                             "/tiles/a.php~",
                             "/tiles/a.php.bak",
                             "/tiles/feed.php",
                             "/tiles/../inc/util.inc",
                             "/tiles_ops/",
                             "/tiles_ops/index.php",
                             "/tiles_ops/../inc/util.inc",
                             "/tiles_ops/.htpasswd",
                             "/inc/util.inc"})
        EXPECT_THAT(get(path).body, AllOf(Not(HasSubstr("<?php")), Not(HasSubstr("secret")), Not(HasSubstr("managed"))))
            << path;
    for (const char* path : {"/tiles/user_profile/images/1.php", "/tiles/stats/1.php"})
        EXPECT_EQ(get(path).status, 403) << path << ": what is put there is no program";
    EXPECT_EQ(get("/tiles/download/1.php").body, "<?php echo 6 * 7;") << "an input file is data";
}

TEST_P(PhpPages, TheAdminsPagesWantAPassword) {
    install_pages();
    serve();
    const std::string good = "YWRtaW46dGlsZXM=", wrong = "YWRtaW46d3Jvbmc=";  // admin:tiles, admin:wrong
    const int refused = has_php() ? 401 : 403;
    EXPECT_EQ(get("/tiles_ops/index.php").status, refused);
    EXPECT_GE(get_as("/tiles_ops/index.php", good).status, 400) << "there is no file with passwords";
    fs::permissions(dir_.write("tiles/ops.htpasswd", "admin:{SHA}4g+NH+9gUgemuiwsOjMMOm1wGZw=\n"), fs::perms(0644));
    EXPECT_EQ(get("/tiles_ops/index.php").status, refused);
    EXPECT_EQ(get_as("/tiles_ops/index.php", wrong).status, refused);
    EXPECT_GE(get("/tiles_ops/").status, 400);
    const HttpReply reply = get_as("/tiles_ops/", good);
    EXPECT_EQ(reply.status == 200, has_php()) << apache_->error_log();
    EXPECT_EQ(reply.body == "managed: 42", has_php()) << reply.body;
}

/// The same of upstream's own pages, which are not part of this repository.
TEST_P(PhpPages, OfUpstreamsPagesNoTextIsShown) {
    const char* html = std::getenv("SLUICE_UPSTREAM_HTML");
    if (html == nullptr || *html == '\0') GTEST_SKIP() << "SLUICE_UPSTREAM_HTML is not set (tests/allowed_skips.txt)";
    install_as_the_page_says(html);
    serve();
    std::size_t pages = 0;
    for (const char* part : {"user", "inc", "ops"})
        for (const auto& entry : fs::directory_iterator(root_ / "html" / part)) {
            if (entry.is_directory()) continue;
            const std::string name = entry.path().filename().string();
            const std::string path = (std::string(part) == "ops" ? "/tiles_ops/" : "/tiles/") + name;
            const HttpReply reply = get(path);
            EXPECT_THAT(reply.body, Not(HasSubstr("<?php"))) << path;
            EXPECT_TRUE(std::string(part) == "user" || reply.status >= 400) << path;
            ++pages;
        }
    EXPECT_GT(pages, 100u);
}

std::vector<Served> all_ways() {
    std::vector<Served> ways;
    for (const Php php : {Php::kNone, Php::kModule, Php::kFpm}) {
        ways.push_back({ApacheMode::kCgid, "tiles.httpd.conf", php});
        ways.push_back({ApacheMode::kFcgid, "tiles.httpd.fcgi.conf", php});
        ways.push_back({ApacheMode::kProxy, "tiles.httpd.proxy.conf", php});
    }
    return ways;
}

INSTANTIATE_TEST_SUITE_P(Ways, PhpPages, testing::ValuesIn(all_ways()), [](const testing::TestParamInfo<Served>& way) {
    const ApacheMode mode = way.param.mode;
    const Php php = way.param.php;
    const std::string by = mode == ApacheMode::kCgid ? "Cgi" : mode == ApacheMode::kFcgid ? "FastCgi" : "Proxy";
    return by + (php == Php::kNone ? "WithoutPhp" : php == Php::kModule ? "ModPhp" : "PhpFpm");
});

}  // namespace
}  // namespace sluice::test
