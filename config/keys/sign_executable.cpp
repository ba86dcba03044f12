// sign_executable FILE PRIVATE_KEY_FILE: the file's signature on stdout, for an app version's NAME.sig.
#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "sluice/base/signing.h"

int main(int argc, char** argv) {
    const std::string_view first = argc > 1 ? argv[1] : "";
    const bool help = first == "-h" || first == "--help";
    if (argc != 3 || help) {
        fmt::print(stderr,
                   "usage: sign_executable FILE PRIVATE_KEY_FILE > FILE.sig\n"
                   "Best run on a machine without a network: update_versions then needs no private key.\n");
        return help ? 0 : 1;
    }
    try {
        fmt::print("{}", sluice::PrivateKey::read(argv[2]).sign_file(argv[1]));
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
