// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>

namespace sluice {

/// What a column of that type can hold.
struct ColumnRange {
    enum class Kind { kWhole, kReal, kText, kTime, kOther } kind = Kind::kOther;
    double most = 0;  ///< the highest whole number; the longest text in characters (of texts without a length: in
                      ///< bytes); of reals, digits
};

/// Of "int(11)", "bigint(20) unsigned", "varchar(191)", "mediumblob", "serial" …, in small letters.
ColumnRange column_range(const std::string& type);

}  // namespace sluice
