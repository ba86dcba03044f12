// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/private_mysql.h"

#include <fmt/core.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "sluice/base/files.h"

namespace sluice::test::mysql {

std::filesystem::path folder() {
    const char* package = std::getenv("SLUICE_TEST_MYSQL");
    return package == nullptr || *package == 0 ? std::filesystem::path() : std::filesystem::path(package) / "server";
}

std::string tables_of_server(const std::filesystem::path& folder) {
    std::string text = "use mysql;\n", digits;
    for (const char* file : {"mysql_system_tables.sql", "mysql_system_tables_data.sql"})
        text += read_file(folder / "share" / file).value_or("") + "\n";
    for (int d = 0; d < 10; ++d) digits += fmt::format("{}select {} d", d == 0 ? "" : " union all ", d);
    return text +
           fmt::format(
               "create database numbers;\nuse numbers;\ncreate table n (seq int primary key);\n"
               "insert into n select 1+a.d+10*b.d+100*c.d+1000*d.d+10000*e.d from ({0}) a,({0}) b,({0}) c,({0}) d,({0}) e;\n",
               digits);
}

std::string accounts(const std::string& password) {
    return fmt::format(
        "DELETE FROM mysql.user WHERE User<>'root' OR Host NOT IN ('localhost','127.0.0.1');\n"
        "UPDATE mysql.user SET Password=PASSWORD('{}');\nFLUSH PRIVILEGES;\n",
        password);
}

std::string views_of_numbers() {
    constexpr std::array<std::pair<int, int>, 12> kViews = {{{1, 20},
                                                             {1, 299},
                                                             {1, 40},
                                                             {1, 80},
                                                             {1, 500},
                                                             {1, 1000},
                                                             {2, 1000},
                                                             {1, 20000},
                                                             {1, 30000},
                                                             {1, 40000},
                                                             {1, 60000},
                                                             {1, 100000}}};
    std::string text;
    for (const auto& [first, last] : kViews)
        text += fmt::format("create view seq_{0}_to_{1} as select seq from numbers.n where seq between {0} and {1};\n",
                            first, last);
    return text;
}

}  // namespace sluice::test::mysql
