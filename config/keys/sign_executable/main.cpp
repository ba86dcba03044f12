// SPDX-License-Identifier: LGPL-3.0-or-later
// sign_executable FILE PRIVATE_KEY_FILE: the file's signature on stdout, for an app version's NAME.sig.
#include <fmt/format.h>

#include <cstdio>

#include "sluice/base/signing.h"
#include "sluice/daemon/program.h"

int main(int argc, char** argv) {
    sluice::CommandLine line(
        "sign_executable", "Signs a file of an app version",
        "The signature goes to standard output: sign_executable FILE PRIVATE_KEY_FILE > FILE.sig. Best "
        "run on a machine without a network: update_versions then needs no private key.");
    std::vector<std::string> files;
    line.positional("FILE", files, "What is to be signed; then the key (keys/code_sign_private).");
    line.section("EXIT STATUS", "0: done. 1: the file or the key can't be read.");
    if (const auto status = line.parse(argc, argv)) return *status;
    if (files.size() != 2) return line.fail("a file and a private key are required");
    return sluice::tool_main({}, [&] {
        fmt::print("{}", sluice::PrivateKey::read(files[1]).sign_file(files[0]));
        return 0;
    });
}
