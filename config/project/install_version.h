// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// An app version goes live: files signed and copied to the download folder, row inserted, in this order, so
// that a version in the database always has its files.
#include <functional>
#include <string>

#include "config/project/app_version_doc.h"
#include "config/project_config.h"
#include "sluice/db/project_setup_store.h"

namespace sluice {

struct InstallKeys {
    std::filesystem::path private_key;  ///< need not exist if every file has its NAME.sig
    std::filesystem::path public_key;   ///< every signature is checked against it
};

/// Signatures by NAME.sig or the private key; throws ConfigError if there is neither, if one does not fit the
/// public key, or if the download folder holds another file of the same name: clients that have that one
/// would keep it.
std::vector<FileFacts> sign_and_check(const VersionSpec& spec, const InstallKeys& keys,
                                      const std::filesystem::path& download_dir);
/// Copies the files (and makes .gz files); facts get the compressed sizes.
void copy_files(const VersionSpec& spec, const std::filesystem::path& download_dir, std::vector<FileFacts>& facts);

}  // namespace sluice
