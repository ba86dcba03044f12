// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/messages/file_requests.h"

#include <fmt/core.h>

#include "sluice/base/text.h"
#include "sluice/model/file_transfer.h"
#include "sluice/xml/result_template.h"

namespace sluice {
namespace {

constexpr const char* kApp =
    "<app>\n    <name>file_xfer</name>\n</app>\n<app_version>\n    <app_name>file_xfer</app_name>\n"
    "    <version_num>0</version_num>\n</app_version>\n";

std::string urls(const FileRequest& request) {
    std::string text;
    for (const std::string& url : request.urls) text += fmt::format("    <url>{}</url>\n", xml_escape(url));
    return text;
}

}  // namespace

std::string delete_file_message(const std::string& file) {
    return fmt::format("<delete_file_info>{}</delete_file_info>\n", xml_escape(file));
}

std::string get_file_message(const FileRequest& r, const PrivateKey* signer) {
    const std::string name = xml_escape(r.file);
    const std::string text = fmt::format(
        "<file_info>\n    <name>{0}</name>\n    <max_nbytes>{1}</max_nbytes>\n{2}</file_info>\n<workunit>\n"
        "    <name>{4}{0}</name>\n    <app_name>file_xfer</app_name>\n</workunit>\n<result>\n"
        "    <wu_name>{4}{0}</wu_name>\n    <name>{4}{0}</name>\n    <file_ref>\n        <file_name>{0}</file_name>\n"
        "    </file_ref>\n    <report_deadline>{3}.000000</report_deadline>\n</result>\n",
        name, r.max_nbytes, urls(r), r.deadline, kUploadJob);
    return kApp + (signer == nullptr ? text : expand_result_template(text, "get_file", "", "", signer) + "\n");
}

std::string put_file_message(const FileRequest& r) {
    const std::string name = xml_escape(r.file);
    return kApp +
           fmt::format(
               "<file_info>\n    <name>{0}</name>\n{1}    <md5_cksum>{2}</md5_cksum>\n    <nbytes>{3}</nbytes>\n"
               "    <sticky/>\n</file_info>\n<workunit>\n    <name>{5}{0}</name>\n"
               "    <app_name>file_xfer</app_name>\n    <file_ref>\n        <file_name>{0}</file_name>\n    </file_ref>\n"
               "</workunit>\n<result>\n    <wu_name>{5}{0}</wu_name>\n    <name>{5}{0}</name>\n"
               "    <report_deadline>{4}.000000</report_deadline>\n</result>\n",
               name, urls(r), xml_escape(r.md5), r.nbytes, r.deadline, kDownloadJob);
}

}  // namespace sluice
