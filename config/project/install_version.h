// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// An app version goes live: its files are signed and copied to the download folder, then its row is inserted. So a
// version in the database always has its files.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/project/app_version_source.h"
#include "config/project_config.h"
#include "sluice/db/project_setup_store.h"

namespace sluice {

/// What the client must know of a file beside its names.
struct FileFacts {
    std::string signature;  ///< hex text, 4 lines and "."
    std::uintmax_t nbytes = 0;
    std::uintmax_t gzipped_nbytes = 0;  ///< 0: not compressed
};

/// The xml_doc of an app_version row: a <file_info> a file, then <app_version>. `facts` has the files' order.
std::string app_version_doc(const VersionFolder& folder, const VersionSpec& spec, const std::vector<FileFacts>& facts,
                            const std::string& download_url);

struct InstallKeys {
    std::filesystem::path private_key;  ///< need not exist if every file has its NAME.sig
    std::filesystem::path public_key;   ///< every signature is checked against it
};

/// Signatures come from NAME.sig or the private key. Throws ConfigError if there is neither, or if one does not fit the
/// public key. It also throws if the download folder holds another file of the same name: clients would keep that one.
std::vector<FileFacts> sign_and_check(const VersionSpec& spec, const InstallKeys& keys,
                                      const std::filesystem::path& download_dir);
/// Copies the files (and makes .gz files); facts get the compressed sizes.
void copy_files(const VersionSpec& spec, const std::filesystem::path& download_dir, std::vector<FileFacts>& facts);

}  // namespace sluice
