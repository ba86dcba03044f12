// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Does a project's database fit the programs? What sluice_options --check says of it.
#include <string>
#include <vector>

#include "sluice/db/schema_survey.h"

namespace sluice {

/// What a column of that type can hold.
struct ColumnRange {
    enum class Kind { kWhole, kReal, kText, kTime, kOther } kind = Kind::kOther;
    double most = 0;  ///< the highest whole number; the longest text in characters (of texts without a length: in
                      ///< bytes); of reals, digits
};

/// Of "int(11)", "bigint(20) unsigned", "varchar(191)", "mediumblob", "serial" …, in small letters.
ColumnRange column_range(const std::string& type);

struct SchemaFindings {
    std::vector<std::string> errors;    ///< a program stops, or rows are refused
    std::vector<std::string> warnings;  ///< programs do without, or only the web pages miss it
};

/// Tables, columns and indexes that are missing, types that hold less, ids that run out, rights. Each line names what
/// follows from it, and the statement that mends it.
SchemaFindings schema_findings(const Schema& expected, const SchemaSurvey& survey);

}  // namespace sluice
