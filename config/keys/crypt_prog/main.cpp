// SPDX-License-Identifier: LGPL-3.0-or-later
// crypt_prog: makes key pairs, signs and verifies, with upstream's arguments and exit statuses: 0, 1 a
// signature that does not fit, 2 an error. -convkey, -convsig and -cert_verify of upstream are not here.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/signing.h"
#include "sluice/base/text.h"
#include "sluice/daemon/check_arguments.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

constexpr const char* kCommands =
    "crypt_prog -genkey 1024 PRIVATE_KEY_FILE PUBLIC_KEY_FILE\n"
    "crypt_prog -sign FILE PRIVATE_KEY_FILE, signature on stdout\n"
    "crypt_prog -sign_string TEXT PRIVATE_KEY_FILE, signature on stdout\n"
    "crypt_prog -verify FILE SIGNATURE_FILE PUBLIC_KEY_FILE\n"
    "crypt_prog -verify_string TEXT SIGNATURE_FILE PUBLIC_KEY_FILE\n"
    "crypt_prog -test_crypt PRIVATE_KEY_FILE PUBLIC_KEY_FILE";

std::string file_text(const std::string& file) {
    auto text = read_file(file);
    if (!text) throw FileError(file + " does not exist");
    return std::move(*text);
}

int generate(const std::string& bits, const std::string& private_file, const std::string& public_file) {
    if (bits != "1024") throw Error("the number of bits must be 1024: clients know no other");
    for (const std::string& file : {private_file, public_file})
        if (std::error_code ignored; std::filesystem::exists(std::filesystem::symlink_status(file, ignored)))
            throw Error(file +
                        " exists: clients of a running project refuse what a new key signs; if that is meant, move " +
                        "the old pair away first");
    const KeyPairText keys = generate_key_pair();
    write_file_atomically(private_file, keys.private_key, 0600);
    write_file_atomically(public_file, keys.public_key, 0644);
    return 0;
}

int tell(bool valid, const char* what) {
    fmt::print("{} is {}\n", what, valid ? "valid" : "invalid");
    return valid ? 0 : 1;
}

int test_pair(const std::string& private_file, const std::string& public_file) {
    constexpr std::string_view kText = "a text to try a pair of keys on";
    const std::string signature = PrivateKey::read(private_file).sign(kText);
    const bool fits = PublicKey::read(public_file).verify(kText, signature);
    fmt::print("{}\n", fits ? "the keys belong together" : "the keys do not belong together");
    return fits ? 0 : 1;
}

/// 3: it is none of the commands.
int run(std::vector<std::string> words) {
    std::string command = words.empty() ? "" : words[0];
    if (command.starts_with("--")) command.erase(0, 1);
    const auto is = [&](std::string_view name, std::size_t count) { return command == name && words.size() == count; };
    if (is("-genkey", 4)) return generate(words[1], words[2], words[3]);
    if (is("-sign", 3)) {
        fmt::print("{}", PrivateKey::read(words[2]).sign_file(words[1]));
        return 0;
    }
    if (is("-sign_string", 3)) {
        fmt::print("{}", PrivateKey::read(words[2]).sign(words[1]));
        return 0;
    }
    if (is("-verify", 4)) {
        return tell(PublicKey::read(words[3]).verify(file_text(words[1]), file_text(words[2])), "file");
    }
    if (is("-verify_string", 4)) {
        return tell(PublicKey::read(words[3]).verify(words[1], file_text(words[2])), "string");
    }
    if (is("-test_crypt", 3)) return test_pair(words[1], words[2]);
    return 3;
}

int run_or_explain(int argc, const char* const* argv) {
    if (argc > 1 && argv[1] == std::string_view(kCheckArguments)) return 0;  // its commands are no options to be judged
    const int status = run({argv + 1, argv + argc});
    if (status != 3) return status;
    // Only for --help and the manual page: the commands, which look like options, are read above.
    CommandLine line("crypt_prog", "Makes keys, signs and verifies",
                     "Keys and signatures are in BOINC's hexadecimal text. One of the commands below, with one or two "
                     "dashes, and its arguments.");
    line.section("COMMANDS", kCommands);
    line.section("EXIT STATUS", "0: done, the signature is valid. 1: it is not. 2: an error.");
    const bool one = argc == 2;
    const std::string_view word = one ? argv[1] : "";
    const bool standard = word == "-h" || word == "--help" || word == "-help" || word == "-v" || word == "--version" ||
                          word == "--man" || word == "-man";
    if (standard) return line.parse(argc, argv).value_or(2);
    line.fail(argc < 2 ? "a command is required"
                       : "there is no command '" + in_one_line(argv[1]) + "' with " + std::to_string(argc - 2) +
                             " arguments");
    return 2;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    return sluice::tool_main({"", 2}, [&] { return sluice::run_or_explain(argc, argv); });
}
