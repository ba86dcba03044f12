// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/column_range.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace sluice {

ColumnRange column_range(const std::string& type) {
    using Kind = ColumnRange::Kind;
    struct Row {
        std::string_view name;
        Kind kind;
        double most;  ///< of whole numbers: bits
    };
    static constexpr Row kRows[] = {{"tinyint", Kind::kWhole, 8},
                                    {"smallint", Kind::kWhole, 16},
                                    {"mediumint", Kind::kWhole, 24},
                                    {"int", Kind::kWhole, 32},
                                    {"integer", Kind::kWhole, 32},
                                    {"bigint", Kind::kWhole, 64},
                                    {"serial", Kind::kWhole, 65},
                                    {"double", Kind::kReal, 15},
                                    {"float", Kind::kReal, 6},
                                    {"char", Kind::kText, 1},
                                    {"varchar", Kind::kText, 1},
                                    {"binary", Kind::kText, 1},
                                    {"varbinary", Kind::kText, 1},
                                    {"tinytext", Kind::kText, 255},
                                    {"tinyblob", Kind::kText, 255},
                                    {"text", Kind::kText, 65535},
                                    {"blob", Kind::kText, 65535},
                                    {"mediumtext", Kind::kText, 16777215},
                                    {"mediumblob", Kind::kText, 16777215},
                                    {"longtext", Kind::kText, 4294967295.},
                                    {"longblob", Kind::kText, 4294967295.},
                                    {"timestamp", Kind::kTime, 0},
                                    {"datetime", Kind::kTime, 0}};
    const std::string_view word = std::string_view(type).substr(0, type.find_first_of(" ("));
    const auto* row = std::ranges::find(kRows, word, &Row::name);
    if (row == std::end(kRows)) return {};
    double most = row->most;
    if (row->kind == Kind::kWhole) {
        const bool is_unsigned = type.find("unsigned") != std::string::npos;
        most = std::exp2(most - (is_unsigned ? 0 : 1)) - 1;
    }
    const auto open = type.find('(');
    if (row->kind == Kind::kText && open != std::string::npos) most = std::atof(type.c_str() + open + 1);
    return {row->kind, most};
}

}  // namespace sluice
