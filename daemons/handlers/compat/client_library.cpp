// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/handlers/compat/client_library.h"

#include <dlfcn.h>

#include <array>
#include <string>

#include "include/sluice/compat/sched_msgs.h"

namespace sluice {
namespace {

template <typename F>
bool find(void* library, const char* name, F& function) {
    function = reinterpret_cast<F>(::dlsym(library, name));
    return function != nullptr;
}

bool find_all(void* in, ClientLibrary& c) {
    return find(in, "mysql_init", c.init) && find(in, "mysql_options", c.options) &&
           find(in, "mysql_real_connect", c.real_connect) && find(in, "mysql_real_query", c.real_query) &&
           find(in, "mysql_store_result", c.store_result) && find(in, "mysql_fetch_row", c.fetch_row) &&
           find(in, "mysql_num_fields", c.num_fields) && find(in, "mysql_fetch_field_direct", c.fetch_field_direct) &&
           find(in, "mysql_num_rows", c.num_rows) && find(in, "mysql_free_result", c.free_result) &&
           find(in, "mysql_affected_rows", c.affected_rows) && find(in, "mysql_insert_id", c.insert_id) &&
           find(in, "mysql_real_escape_string", c.real_escape_string) && find(in, "mysql_ping", c.ping) &&
           find(in, "mysql_errno", c.error_number) && find(in, "mysql_error", c.error) &&
           find(in, "mysql_close", c.close);
}

/// The one that the program is linked with goes first: code may hand our connection to its functions.
bool load(ClientLibrary& c) {
    constexpr std::array kNames{"libmariadb.so.3", "libmysqlclient.so.24", "libmysqlclient.so.21"};
    void* library = RTLD_DEFAULT;
    bool loaded = find_all(library, c);
    for (const char* name : kNames) {
        if (loaded) break;
        library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
        loaded = library != nullptr && find_all(library, c);
    }
    // MySQL's library numbers the options for encryption otherwise.
    if (loaded && (::dlsym(library, "mariadb_connection") == nullptr || !find(library, "mysql_ssl_set", c.ssl_set)))
        c.ssl_set = nullptr;
    return loaded;
}

}  // namespace

const ClientLibrary* client_library() {
    static ClientLibrary library{};
    static const bool loaded = load(library);
    if (!loaded)
        log_messages.printf(MSG_CRITICAL,
                            "this program looks into the database, and libmariadb.so.3 is not there: install it "
                            "(Debian: apt-get install libmariadb3)\n");
    return loaded ? &library : nullptr;
}

}  // namespace sluice
