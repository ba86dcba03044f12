// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// ProjectTables <-> bytes, for the segment. Numbers in the machine's own form: writer and reader are one build
// (the layout version in the segment's header says so).
#include <string>
#include <string_view>

#include "sluice/model/project_tables.h"

namespace sluice::shm {

std::string encode_tables(const ProjectTables& tables);
/// Throws ShmemError if the bytes are not what encode_tables() made.
ProjectTables decode_tables(std::string_view bytes);

}  // namespace sluice::shm
