// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// An output template with the names of one result filled in: what the transitioner stores for each new result, and the
// scheduler for targeted jobs. Upstream's rules:
//   <OUTFILE_x/>   -> BASE + x          (x: any text)
//   <UPLOAD_URL/>  -> <upload_url> of config.xml
// an <output_template> wrapper and surrounding white space go away, and each <file_info> gets the signature of its name
// and size limit, by which file_upload_handler knows that the project wants this upload. Comments go away, too.
#include <string>
#include <string_view>

#include "sluice/base/signing.h"

namespace sluice {

/// Base of a result's output file names: RESULTNAME_r{random}_
std::string output_file_base(std::string_view result_name, std::int64_t random);

/// `signer`: keys/upload_private; null with <dont_generate_upload_certificates>. Throws ConfigError that names
/// `template_file` if the template has no <result> element or a <file_info> without <name> or <max_nbytes> to sign.
std::string expand_result_template(std::string_view text, const std::string& template_file, std::string_view base,
                                   std::string_view upload_url, const PrivateKey* signer);

/// Where `what` stands first, comments not counted; npos: nowhere.
std::size_t find_outside_comments(std::string_view text, std::string_view what);

/// BOINC's own scheduler sends no job whose output template goes on behind <result> on the same line. The line, from 1;
/// 0: it may be sent.
int line_of_joined_result(std::string_view output_template);

}  // namespace sluice
