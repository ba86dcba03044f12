// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/project_setup_store.h"
#include "db/mysql/columns.h"

namespace sluice {
namespace {

class MysqlProjectSetupStore final : public ProjectSetupStore {
  public:
    explicit MysqlProjectSetupStore(Database& db) : db_(db) {}

    std::vector<Platform> platforms() override {
        Rows rows = db_.query(Sql("SELECT id, name, user_friendly_name, deprecated FROM platform ORDER BY id"));
        std::vector<Platform> found;
        while (rows.next()) found.push_back({rows.i64(0), rows.text(1), rows.text(2), rows.flag(3)});
        return found;
    }

    std::vector<App> apps() override { return all_apps(db_, ""); }

    Id add_platform(const Platform& platform, std::int64_t now) override {
        Sql sql("INSERT INTO platform (create_time, name, user_friendly_name, deprecated) VALUES (");
        sql << now << "," << SqlText{platform.name, 191} << "," << SqlText{platform.user_friendly_name} << ","
            << platform.deprecated << ")";
        return insert(sql);
    }

    Id add_app(const App& app, std::int64_t now) override {
        Sql sql(
            "INSERT INTO app (create_time, name, min_version, deprecated, user_friendly_name, "
            "homogeneous_redundancy, "
            "weight, beta, target_nresults, host_scale_check, homogeneous_app_version, non_cpu_intensive, "
            "locality_scheduling, n_size_classes, fraction_done_exact) VALUES (");
        sql << now << "," << SqlText{app.name, 191} << "," << app.min_version << "," << app.deprecated << ","
            << SqlText{app.user_friendly_name} << "," << app.homogeneous_redundancy << "," << app.weight << ","
            << app.beta << "," << app.target_nresults << "," << app.host_scale_check << ","
            << app.homogeneous_app_version << "," << app.non_cpu_intensive << "," << app.locality_scheduling << ","
            << app.n_size_classes << "," << app.fraction_done_exact << ")";
        return insert(sql);
    }

    void update(const std::vector<Platform>& platforms, const std::vector<App>& apps) override {
        for (const Platform& platform : platforms) {
            Sql sql("UPDATE platform SET user_friendly_name=");
            db_.execute(sql << SqlText{platform.user_friendly_name} << " WHERE id=" << platform.id);
        }
        for (const App& app : apps) {
            Sql sql("UPDATE app SET user_friendly_name=");
            sql << SqlText{app.user_friendly_name} << ", min_version=" << app.min_version << " WHERE id=" << app.id;
            db_.execute(sql);
        }
    }

    void write_settings(const App& app) override {
        Sql sql("UPDATE app SET user_friendly_name=");
        sql << SqlText{app.user_friendly_name} << ", min_version=" << app.min_version
            << ", deprecated=" << app.deprecated << ", homogeneous_redundancy=" << app.homogeneous_redundancy
            << ", weight=" << app.weight << ", beta=" << app.beta << ", target_nresults=" << app.target_nresults
            << ", host_scale_check=" << app.host_scale_check
            << ", homogeneous_app_version=" << app.homogeneous_app_version
            << ", non_cpu_intensive=" << app.non_cpu_intensive << ", locality_scheduling=" << app.locality_scheduling
            << ", n_size_classes=" << app.n_size_classes << ", fraction_done_exact=" << app.fraction_done_exact
            << " WHERE id=" << app.id;
        db_.execute(sql);
    }

    std::vector<AppVersion> versions(Id app) override {
        Sql sql("SELECT id, platformid, version_num, plan_class, deprecated, beta FROM app_version WHERE appid=");
        Rows rows = db_.query(sql << app << " ORDER BY version_num, platformid, plan_class, id");
        std::vector<AppVersion> found;
        while (rows.next()) {
            AppVersion version;
            version.appid = app;
            rows.read(version.id, version.platformid, version.version_num, version.plan_class, version.deprecated,
                      version.beta);
            found.push_back(std::move(version));
        }
        return found;
    }

    void set_deprecated(std::span<const Id> versions, bool deprecated) override {
        if (versions.empty()) return;
        Sql sql("UPDATE app_version SET deprecated=");
        sql << deprecated << " WHERE id IN (";
        db_.execute(sql.ids(versions) << ")");
    }

    std::optional<Id> find_version(const AppVersion& version) override {
        Sql sql("SELECT id FROM app_version WHERE appid=");
        sql << version.appid << " AND platformid=" << version.platformid << " AND version_num=" << version.version_num
            << " AND plan_class=" << SqlText{version.plan_class, 128};
        Rows rows = db_.query(sql);
        return rows.next() ? std::optional<Id>(rows.i64(0)) : std::nullopt;
    }

    Id add_version(const AppVersion& version, std::int64_t now) override {
        Sql sql(
            "INSERT INTO app_version (create_time, appid, version_num, platformid, xml_doc, "
            "min_core_version, "
            "max_core_version, deprecated, plan_class, beta) VALUES (");
        sql << now << "," << version.appid << "," << version.version_num << "," << version.platformid << ","
            << SqlBlob{version.xml_doc} << "," << version.min_core_version << "," << version.max_core_version << ","
            << version.deprecated << "," << SqlText{version.plan_class, 128} << "," << version.beta << ")";
        return insert(sql);
    }

    bool names_files_at(const std::string& download_url) override {
        Sql versions("SELECT 1 FROM app_version WHERE LOCATE(");
        if (db_.query(versions << SqlBlob{download_url} << ", xml_doc)>0 LIMIT 1").next()) return true;
        Sql jobs(
            "SELECT 1 FROM workunit WHERE id>(SELECT MAX(id) FROM workunit)-1000 AND file_delete_state<2 AND LOCATE(");
        return db_.query(jobs << SqlBlob{download_url} << ", xml_doc)>0 LIMIT 1").next();
    }

    std::optional<User> user_by_email(const std::string& email) override {
        Sql sql(
            "SELECT id, create_time, email_addr, name, authenticator, passwd_hash FROM user WHERE "
            "email_addr=");
        Rows rows = db_.query(sql << SqlText{email, 191});
        if (!rows.next()) return std::nullopt;
        User user;
        rows.read(user.id, user.create_time, user.email_addr, user.name, user.authenticator, user.passwd_hash);
        return user;
    }

    Id add_user(const User& user) override {
        Sql sql(
            "INSERT INTO user (create_time, email_addr, name, authenticator, country, postal_code, "
            "total_credit, "
            "expavg_credit, expavg_time, global_prefs, project_prefs, teamid, venue, url, send_email, "
            "show_hosts, posts, "
            "seti_id, seti_nresults, seti_last_result_time, seti_total_cpu, signature, has_profile, "
            "cross_project_id, "
            "passwd_hash, email_validated, donated) VALUES (");
        sql << user.create_time << "," << SqlText{user.email_addr, 191} << "," << SqlText{user.name, 191} << ","
            << SqlText{user.authenticator, 191} << ",'International','',0,0," << user.create_time << ","
            << SqlBlob{user.global_prefs} << "," << SqlBlob{user.project_prefs} << "," << user.teamid << ","
            << SqlText{user.venue} << ",'',1,1,0," << user.seti_id << ",0,0,0,'',0," << SqlText{user.cross_project_id}
            << "," << SqlText{user.passwd_hash} << ",0,0)";
        return insert(sql);
    }

  private:
    Id insert(const Sql& sql) {
        db_.execute(sql);
        return db_.last_insert_id();
    }
    Database& db_;
};

}  // namespace

std::unique_ptr<ProjectSetupStore> make_project_setup_store(Database& db) {
    return std::make_unique<MysqlProjectSetupStore>(db);
}

}  // namespace sluice
