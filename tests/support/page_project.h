// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project without a database, for tests of what a web server shows of it.
#include <filesystem>
#include <memory>

#include "tests/support/subprocess.h"

namespace sluice::test {

/// make_project makes `root`, called tiles, at http://127.0.0.1. Its programs are copies: the web server's account may
/// not see the build folder. Throws with what make_project said if it fails.
void make_page_project(const std::filesystem::path& root);

/// Its scheduler as a FastCGI server of two processes, once it listens.
std::unique_ptr<Subprocess> start_scheduler_of(const std::filesystem::path& root);

}  // namespace sluice::test
