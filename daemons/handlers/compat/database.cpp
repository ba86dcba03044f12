// SPDX-License-Identifier: LGPL-3.0-or-later
// Functions of db_base.h: one connection, made when it is first used, and made anew after the server has closed it.
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "daemons/handlers/compat/client_library.h"
#include "daemons/handlers/serve.h"
#include "include/sluice/compat/sched_config.h"
#include "include/sluice/compat/sched_msgs.h"

DB_CONN boinc_db;
bool g_print_queries = false;

namespace sluice {
namespace {

/// The client library's numbers, which are the same in all.
constexpr int kConnectTimeout = 0, kCharacterSet = 7, kSslVerify = 21, kSslEnforce = 38;
constexpr unsigned kGone = 2006, kLost = 2013;

struct Connection {
    MYSQL* handle = nullptr;
    bool in_transaction = false;
    bool lost_transaction = false;  ///< the server has rolled it back, and the code does not know
    bool may_be_open = false;       ///< a statement of the code's own may have begun a transaction
    bool tried = false;             ///< since the workunit began
    std::string last_error{};
    std::string name{}, hosts{}, user{}, password{};  ///< open()'s; no name: config.xml's
};

/// One for the program, as upstream's boinc_db is.
Connection& connection() {
    static Connection one;
    return one;
}

int failed(const std::string& what, int number) {
    connection().last_error = what;
    log_messages.printf(MSG_CRITICAL, "database: %s\n", what.c_str());
    return number;
}

std::string own_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// "" if it is connected, or why it is not.
std::string connect_to(const ClientLibrary& client, const std::string& place) {
    const Connection& c = connection();
    const std::size_t colon = place.find(':');
    std::string host = place.substr(0, colon);
    const auto port = colon == std::string::npos ? 0U : static_cast<unsigned>(std::atoi(place.c_str() + colon + 1));
    if (port == 0 && (host == "localhost" || host == own_name())) host.clear();
    MYSQL* handle = client.init(nullptr);
    if (handle == nullptr) return "no memory";
    const unsigned seconds = 10;
    client.options(handle, kConnectTimeout, &seconds);
    client.options(handle, kCharacterSet, "utf8mb4");
    if (*config.db_ssl_ca != '\0' && !host.empty()) {
        const char yes = 1;
        if (client.ssl_set == nullptr || client.options(handle, kSslEnforce, &yes) != 0 ||
            client.options(handle, kSslVerify, &yes) != 0) {
            client.close(handle);
            return "this client library can't enforce encryption, which <db_ssl_ca> asks for: install libmariadb3";
        }
        client.ssl_set(handle, nullptr, nullptr, config.db_ssl_ca, nullptr, nullptr);
    }
    if (client.real_connect(handle, host.empty() ? nullptr : host.c_str(), c.user.c_str(), c.password.c_str(),
                            c.name.c_str(), port, host.empty() ? std::getenv("MYSQL_UNIX_PORT") : nullptr,
                            0) == nullptr) {
        std::string why = client.error(handle);
        client.close(handle);
        return why;
    }
    connection().handle = handle;
    return "";
}

/// A server goes on with a statement whose program was ended, so it has the same limit. MariaDB, then MySQL.
std::string session_rules() {
    std::string rules = "SET SESSION time_zone='+00:00', sql_select_limit=" + std::to_string(MAX_ENUMERATED_ROWS + 1);
    if (database_rules.dry_run) rules += ", autocommit=0";
    if (const double limit = database_rules.time_limit; limit > 0)
        rules += " /*M!100101 , max_statement_time=" + std::to_string(limit) + " */ /*!50708 , max_execution_time=" +
                 std::to_string(static_cast<unsigned>(std::min(limit * 1000, 4e9)) + 1) + " */";
    return rules;
}

/// Of "A,B,C" the first that can be reached.
int connect(const ClientLibrary& client) {
    Connection& c = connection();
    if (c.name.empty()) {
        c.name = config.db_name;
        c.hosts = config.db_host;
        c.user = config.db_user;
        c.password = config.db_passwd;
    }
    std::string why;
    for (std::size_t at = 0; c.handle == nullptr && at <= c.hosts.size();) {
        const std::size_t comma = std::min(c.hosts.find(',', at), c.hosts.size());
        why = connect_to(client, c.hosts.substr(at, comma - at));
        at = comma + 1;
    }
    if (c.handle == nullptr) return failed("can't connect: " + why, ERR_DB_CANT_CONNECT);
    const std::string rules = session_rules();
    if (client.real_query(c.handle, rules.data(), rules.size()) == 0) return 0;
    const std::string error = client.error(c.handle);
    const auto number = static_cast<int>(client.error_number(c.handle));
    boinc_db.close();
    return failed(error, number);
}

/// A connected one, or null. The server closes connections that rest for hours: each workunit's first use tries it.
const ClientLibrary* ready() {
    const ClientLibrary* client = client_library();
    if (client == nullptr) return nullptr;
    Connection& c = connection();
    const bool rested = !std::exchange(c.tried, true);
    if (rested && c.handle != nullptr && client->ping(c.handle) != 0) boinc_db.close();
    return c.handle != nullptr || connect(*client) == 0 ? client : nullptr;
}

bool only_reads(const std::string& statement) {
    const std::size_t at = std::min(statement.find_first_not_of(" \t\n"), statement.size());
    return ::strncasecmp(statement.c_str() + at, "select", 6) == 0;
}

/// What only reads is repeated if the connection has been lost. What a lost transaction would have held is refused.
int run(const std::string& statement) {
    if (connection().lost_transaction)
        return failed(
            "the connection was lost within a transaction, which is undone [" + statement.substr(0, 500) + "]",
            ERR_DB_CONN_LOST);
    if (!only_reads(statement)) connection().may_be_open = true;
    for (const bool again : {true, false}) {
        const ClientLibrary* client = ready();
        if (client == nullptr) return ERR_DB_CANT_CONNECT;
        Connection& c = connection();
        if (g_print_queries) log_messages.printf(MSG_NORMAL, "query: %s\n", statement.c_str());
        if (client->real_query(c.handle, statement.data(), statement.size()) == 0) return 0;
        const unsigned number = client->error_number(c.handle);
        const std::string why = client->error(c.handle);
        const bool is_away = number == kGone || number == kLost, repeatable = again && !c.in_transaction;
        const bool is_undone = is_away && c.in_transaction;
        if (is_away) boinc_db.close();
        c.lost_transaction = is_undone;
        if (is_away && repeatable && only_reads(statement)) continue;
        return failed(why + " [" + statement.substr(0, 500) + "]", number == 0 ? -1 : static_cast<int>(number));
    }
    return -1;
}

}  // namespace
}  // namespace sluice

using sluice::client_library;

/// The rows that a statement gave.
struct DB_ROWS {
    explicit DB_ROWS(MYSQL_RES* rows) : result(rows), fields(client_library()->num_fields(rows)) {}
    DB_ROWS(const DB_ROWS&) = delete;
    ~DB_ROWS() { client_library()->free_result(result); }
    bool next() { return (row = client_library()->fetch_row(result)) != nullptr; }
    /// Null: there is no such column, or no value.
    const char* value(const char* column) const {
        for (unsigned i = 0; i < fields; ++i) {
            const void* field = client_library()->fetch_field_direct(result, i);
            if (std::strcmp(*static_cast<const char* const*>(field), column) == 0) return row[i];
        }
        return nullptr;
    }

    MYSQL_RES* result;
    unsigned fields;
    char** row = nullptr;
};

namespace {

using sluice::failed;

int query(const std::string& statement, std::shared_ptr<DB_ROWS>& rows) {
    if (const int error = sluice::run(statement)) return error;
    MYSQL* handle = sluice::connection().handle;
    MYSQL_RES* result = client_library()->store_result(handle);
    if (result == nullptr) {
        const auto number = static_cast<int>(client_library()->error_number(handle));
        return failed(number == 0 ? "the statement gives no rows" : client_library()->error(handle),
                      number == 0 ? -1 : number);
    }
    rows = std::make_shared<DB_ROWS>(result);
    if (client_library()->num_rows(result) <= MAX_ENUMERATED_ROWS) return 0;
    rows.reset();
    return failed("more than " + std::to_string(MAX_ENUMERATED_ROWS) +
                      " rows: give the statement a narrower condition [" + statement.substr(0, 500) + "]",
                  -1);
}

/// The first value of the first row.
int query_one(const std::string& statement, std::string& value) {
    std::shared_ptr<DB_ROWS> rows;
    if (const int error = query(statement, rows)) return error;
    if (!rows->next() || rows->row[0] == nullptr) return ERR_DB_NOT_FOUND;
    value = rows->row[0];
    return 0;
}

/// Each column into the member of its name.
class RowReader {
  public:
    explicit RowReader(const DB_ROWS& rows) : rows_(rows) {}
    void operator()(const char* column, double& value) { value = number(column); }
    void operator()(const char* column, bool& value) { value = number(column) != 0; }
    void operator()(const char* column, int& value) {
        value = static_cast<int>(std::max(-2147483648.0, std::min(2147483647.0, number(column))));
    }
    void operator()(const char* column, long& value) { value = std::strtol(text(column), nullptr, 10); }
    template <std::size_t n>
    void operator()(const char* column, char (&value)[n]) {
        strlcpy(value, text(column), n);
    }

  private:
    const char* text(const char* column) const {
        const char* found = rows_.value(column);
        return found == nullptr ? "" : found;
    }
    double number(const char* column) const { return std::strtod(text(column), nullptr); }

    const DB_ROWS& rows_;
};

#define COLUMN(name) read(#name, row.name)

void read_row(RowReader& read, APP& row) {
    COLUMN(id), COLUMN(create_time), COLUMN(name), COLUMN(min_version), COLUMN(deprecated), COLUMN(user_friendly_name);
    COLUMN(homogeneous_redundancy), COLUMN(weight), COLUMN(beta), COLUMN(target_nresults), COLUMN(min_avg_pfc);
    COLUMN(host_scale_check), COLUMN(homogeneous_app_version), COLUMN(non_cpu_intensive), COLUMN(locality_scheduling);
    COLUMN(n_size_classes), COLUMN(fraction_done_exact);
}

void read_row(RowReader& read, WORKUNIT& row) {
    COLUMN(id), COLUMN(create_time), COLUMN(appid), COLUMN(name), COLUMN(xml_doc), COLUMN(batch);
    COLUMN(rsc_fpops_est), COLUMN(rsc_fpops_bound), COLUMN(rsc_memory_bound), COLUMN(rsc_disk_bound);
    COLUMN(need_validate), COLUMN(canonical_resultid), COLUMN(canonical_credit), COLUMN(transition_time);
    COLUMN(delay_bound), COLUMN(error_mask), COLUMN(file_delete_state), COLUMN(assimilate_state), COLUMN(hr_class);
    COLUMN(opaque), COLUMN(min_quorum), COLUMN(target_nresults), COLUMN(max_error_results), COLUMN(max_total_results);
    COLUMN(max_success_results), COLUMN(result_template_file), COLUMN(priority), COLUMN(mod_time);
    COLUMN(rsc_bandwidth_bound), COLUMN(fileset_id), COLUMN(app_version_id), COLUMN(transitioner_flags);
    COLUMN(size_class), COLUMN(keywords), COLUMN(app_version_num);
}

void read_row(RowReader& read, RESULT& row) {
    COLUMN(id), COLUMN(create_time), COLUMN(workunitid), COLUMN(server_state), COLUMN(outcome), COLUMN(client_state);
    COLUMN(hostid), COLUMN(userid), COLUMN(report_deadline), COLUMN(sent_time), COLUMN(received_time), COLUMN(name);
    COLUMN(cpu_time), COLUMN(xml_doc_in), COLUMN(xml_doc_out), COLUMN(stderr_out), COLUMN(batch);
    COLUMN(file_delete_state), COLUMN(validate_state), COLUMN(claimed_credit), COLUMN(granted_credit), COLUMN(opaque);
    COLUMN(random), COLUMN(app_version_num), COLUMN(appid), COLUMN(exit_status), COLUMN(teamid), COLUMN(priority);
    COLUMN(mod_time), COLUMN(elapsed_time), COLUMN(flops_estimate), COLUMN(app_version_id), COLUMN(runtime_outlier);
    COLUMN(size_class), COLUMN(peak_working_set_size), COLUMN(peak_swap_size), COLUMN(peak_disk_usage);
}

void read_row(RowReader& read, USER& row) {
    COLUMN(id), COLUMN(create_time), COLUMN(email_addr), COLUMN(name), COLUMN(authenticator), COLUMN(country);
    COLUMN(postal_code), COLUMN(total_credit), COLUMN(expavg_credit), COLUMN(expavg_time), COLUMN(global_prefs);
    COLUMN(project_prefs), COLUMN(teamid), COLUMN(venue), COLUMN(url), COLUMN(send_email), COLUMN(show_hosts);
    COLUMN(posts), COLUMN(seti_id), COLUMN(seti_nresults), COLUMN(seti_last_result_time), COLUMN(seti_total_cpu);
    COLUMN(signature), COLUMN(has_profile), COLUMN(cross_project_id), COLUMN(passwd_hash), COLUMN(email_validated);
    COLUMN(donated);
}

void read_row(RowReader& read, TEAM& row) {
    COLUMN(id), COLUMN(create_time), COLUMN(userid), COLUMN(name), COLUMN(name_lc), COLUMN(url), COLUMN(type);
    COLUMN(name_html), COLUMN(description), COLUMN(nusers), COLUMN(country), COLUMN(total_credit);
    COLUMN(expavg_credit), COLUMN(expavg_time), COLUMN(seti_id), COLUMN(ping_user), COLUMN(ping_time);
}

void read_row(RowReader& read, HOST& row) {
    COLUMN(id), COLUMN(create_time), COLUMN(userid), COLUMN(rpc_seqno), COLUMN(rpc_time), COLUMN(total_credit);
    COLUMN(expavg_credit), COLUMN(expavg_time), COLUMN(timezone), COLUMN(domain_name), COLUMN(serialnum);
    COLUMN(last_ip_addr), COLUMN(nsame_ip_addr), COLUMN(on_frac), COLUMN(connected_frac), COLUMN(active_frac);
    COLUMN(cpu_efficiency), COLUMN(duration_correction_factor), COLUMN(p_ncpus), COLUMN(p_vendor), COLUMN(p_model);
    COLUMN(p_fpops), COLUMN(p_iops), COLUMN(p_membw), COLUMN(os_name), COLUMN(os_version), COLUMN(m_nbytes);
    COLUMN(m_cache), COLUMN(m_swap), COLUMN(d_total), COLUMN(d_free), COLUMN(d_boinc_used_total);
    COLUMN(d_boinc_used_project), COLUMN(d_boinc_max), COLUMN(n_bwup), COLUMN(n_bwdown), COLUMN(credit_per_cpu_sec);
    COLUMN(venue), COLUMN(nresults_today), COLUMN(avg_turnaround), COLUMN(host_cpid), COLUMN(external_ip_addr);
    read("max_results_day", row._max_results_day);
    read("error_rate", row._error_rate);
    COLUMN(product_name), COLUMN(gpu_active_frac), COLUMN(p_ngpus), COLUMN(p_gpu_fpops), COLUMN(misc);
}

void read_row(RowReader& read, HOST_APP_VERSION& row) {
    COLUMN(host_id), COLUMN(app_version_id), COLUMN(max_jobs_per_day), COLUMN(n_jobs_today), COLUMN(consecutive_valid);
    read("pfc_n", row.pfc.n);
    read("pfc_avg", row.pfc.avg);
    for (const auto& [prefix, average] : {std::pair("et_", &row.et), std::pair("turnaround_", &row.turnaround)}) {
        const std::string name = prefix;
        read((name + "n").c_str(), average->n);
        read((name + "avg").c_str(), average->avg);
        read((name + "var").c_str(), average->var);
        read((name + "q").c_str(), average->q);
    }
}

template <typename ROW>
constexpr const char* kTable = "";
template <>
constexpr const char* kTable<APP> = "app";
template <>
constexpr const char* kTable<WORKUNIT> = "workunit";
template <>
constexpr const char* kTable<RESULT> = "result";
template <>
constexpr const char* kTable<USER> = "user";
template <>
constexpr const char* kTable<TEAM> = "team";
template <>
constexpr const char* kTable<HOST> = "host";
template <>
constexpr const char* kTable<HOST_APP_VERSION> = "host_app_version";

template <typename ROW>
std::string select(const char* what, const char* clause) {
    return std::string("SELECT ") + what + " FROM " + kTable<ROW> + " " + clause;
}

DB_ID_TYPE id_of(const HOST_APP_VERSION&) { return 0; }
template <typename ROW>
DB_ID_TYPE id_of(const ROW& row) {
    return row.id;
}

}  // namespace

template <typename ROW>
int DB_TABLE<ROW>::lookup(const char* clause) {
    std::shared_ptr<DB_ROWS> rows;
    if (const int error = query(select<ROW>("*", clause), rows)) return error;
    if (!rows->next()) return ERR_DB_NOT_FOUND;
    RowReader read(*rows);
    read_row(read, *this);
    return 0;
}

template <typename ROW>
int DB_TABLE<ROW>::lookup_id(DB_ID_TYPE wanted) {
    return lookup(("WHERE id=" + std::to_string(wanted)).c_str());
}

template <typename ROW>
int DB_TABLE<ROW>::enumerate(const char* clause, bool) {
    if (rows_ == nullptr)
        if (const int error = query(select<ROW>("*", clause), rows_)) return error;
    if (!rows_->next()) {
        rows_.reset();
        return ERR_DB_NOT_FOUND;
    }
    RowReader read(*rows_);
    read_row(read, *this);
    return 0;
}

template <typename ROW>
int DB_TABLE<ROW>::end_enumerate() {
    rows_.reset();
    return 0;
}

template <typename ROW>
int DB_TABLE<ROW>::count(long& n, const char* clause) {
    return boinc_db.get_long(select<ROW>("COUNT(*)", clause).c_str(), n);
}

template <typename ROW>
int DB_TABLE<ROW>::sum(double& total, const char* field, const char* clause) {
    return boinc_db.get_double(select<ROW>(("COALESCE(SUM(" + std::string(field) + "),0)").c_str(), clause).c_str(),
                               total);
}

template <typename ROW>
int DB_TABLE<ROW>::max_id(DB_ID_TYPE& greatest, const char* clause) {
    return boinc_db.get_long(select<ROW>("MAX(id)", clause).c_str(), greatest);
}

template <typename ROW>
int DB_TABLE<ROW>::update_field(const char* assignments, const char* condition) {
    std::string where = " WHERE id=" + std::to_string(id_of(static_cast<const ROW&>(*this)));
    if (condition != nullptr) where += std::string(" AND ") + condition;
    return sluice::run(std::string("UPDATE ") + kTable<ROW> + " SET " + assignments + where);
}

template <typename ROW>
int DB_TABLE<ROW>::get_field_ints(const char* fields, int n, int* values) {
    std::shared_ptr<DB_ROWS> rows;
    const std::string where = "WHERE id=" + std::to_string(id_of(static_cast<const ROW&>(*this)));
    if (const int error = query(select<ROW>(fields, where.c_str()), rows)) return error;
    if (!rows->next()) return ERR_DB_NOT_FOUND;
    if (rows->fields != static_cast<unsigned>(n)) return ERR_INVALID_PARAM;
    for (int i = 0; i < n; ++i) values[i] = rows->row[i] == nullptr ? 0 : std::atoi(rows->row[i]);
    return 0;
}

template class DB_TABLE<APP>;
template class DB_TABLE<WORKUNIT>;
template class DB_TABLE<RESULT>;
template class DB_TABLE<USER>;
template class DB_TABLE<TEAM>;
template class DB_TABLE<HOST>;
template class DB_TABLE<HOST_APP_VERSION>;

int hav_lookup(DB_HOST_APP_VERSION& hav, DB_ID_TYPE hostid, DB_ID_TYPE generalized_version) {
    return hav.lookup(
        ("WHERE host_id=" + std::to_string(hostid) + " AND app_version_id=" + std::to_string(generalized_version))
            .c_str());
}

void* DB_CONN::HANDLE::connected() {
    sluice::connection().may_be_open = true;
    return sluice::ready() == nullptr ? nullptr : sluice::connection().handle;
}

int DB_CONN::open(const char* name, const char* host, const char* user, const char* password) {
    close();
    sluice::Connection& c = sluice::connection();
    const auto text = [](const char* given) { return std::string(given == nullptr ? "" : given); };
    c.name = text(name);
    c.hosts = text(host);
    c.user = text(user);
    c.password = text(password);
    return sluice::ready() == nullptr ? ERR_DB_CANT_CONNECT : 0;
}

void DB_CONN::close() {
    sluice::Connection& c = sluice::connection();
    if (c.handle != nullptr) client_library()->close(c.handle);
    c.handle = nullptr;
    c.in_transaction = c.lost_transaction = c.may_be_open = false;
}

int DB_CONN::do_query(const char* statement) { return sluice::run(statement); }

int DB_CONN::affected_rows() {
    MYSQL* handle = sluice::connection().handle;
    return handle == nullptr ? 0 : static_cast<int>(client_library()->affected_rows(handle));
}

DB_ID_TYPE DB_CONN::insert_id() {
    MYSQL* handle = sluice::connection().handle;
    return handle == nullptr ? 0 : static_cast<DB_ID_TYPE>(client_library()->insert_id(handle));
}

int DB_CONN::get_long(const char* statement, long& value) {
    std::string text;
    const int error = query_one(statement, text);
    if (error == 0) value = std::strtol(text.c_str(), nullptr, 10);
    return error;
}

int DB_CONN::get_double(const char* statement, double& value) {
    std::string text;
    const int error = query_one(statement, text);
    if (error == 0) value = std::strtod(text.c_str(), nullptr);
    return error;
}

int DB_CONN::start_transaction() {
    if (sluice::database_rules.dry_run) return sluice::run("DO 0");  // one has begun, which is not to be committed
    const int error = sluice::run("START TRANSACTION");
    sluice::connection().in_transaction = error == 0;
    return error;
}

int DB_CONN::commit_transaction() {
    if (sluice::database_rules.dry_run) return sluice::connection().lost_transaction ? ERR_DB_CONN_LOST : 0;
    const int error = sluice::run("COMMIT");
    sluice::connection().in_transaction = false;
    sluice::connection().may_be_open = error != 0;
    return error;
}

int DB_CONN::rollback_transaction() {
    sluice::Connection& c = sluice::connection();
    const bool is_undone = std::exchange(c.lost_transaction, false);
    const int error = is_undone ? 0 : sluice::run("ROLLBACK");
    c.in_transaction = false;
    c.may_be_open = error != 0;
    return error;
}

bool sluice::end_transaction(bool good) {
    Connection& c = connection();
    c.tried = false;
    const bool is_lost = c.lost_transaction, was_forgotten = c.in_transaction;
    const bool may_be_open = std::exchange(c.may_be_open, false) && c.handle != nullptr;
    if (!may_be_open && !is_lost) return true;
    if (was_forgotten && !database_rules.dry_run)
        log_messages.printf(MSG_WARNING, "database: a transaction was left open: it is %s\n",
                            good ? "committed" : "rolled back");
    good = good && !database_rules.dry_run;
    const int error = good ? boinc_db.commit_transaction() : boinc_db.rollback_transaction();
    c.may_be_open = c.lost_transaction = c.tried = false;
    return error == 0 || (!was_forgotten && !is_lost);
}

int DB_CONN::ping() {
    const sluice::ClientLibrary* client = sluice::ready();
    return client == nullptr ? ERR_DB_CANT_CONNECT : client->ping(sluice::connection().handle);
}

const char* DB_CONN::error_string() { return sluice::connection().last_error.c_str(); }

void DB_CONN::print_error(const char* where) {
    log_messages.printf(MSG_CRITICAL, "%s: database error: %s\n", where, error_string());
}

void escape_string(char* field, int len) {
    if (len <= 0) return;
    const sluice::ClientLibrary* client = sluice::ready();
    const std::string text(field, ::strnlen(field, static_cast<std::size_t>(len)));
    std::string escaped(2 * text.size() + 1, '\0');
    if (client == nullptr)
        escaped.clear();  // nothing that could end a quoted text
    else
        escaped.resize(
            client->real_escape_string(sluice::connection().handle, escaped.data(), text.data(), text.size()));
    // Half an escaped character at the end would open what was closed.
    std::size_t fits = std::min(escaped.size(), static_cast<std::size_t>(len) - 1);
    if (fits < escaped.size()) {
        std::size_t backslashes = 0;
        while (backslashes < fits && escaped[fits - 1 - backslashes] == '\\') ++backslashes;
        if (backslashes % 2 == 1) --fits;
    }
    std::memcpy(field, escaped.data(), fits);
    field[fits] = '\0';
}
