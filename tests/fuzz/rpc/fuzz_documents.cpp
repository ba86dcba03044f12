// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as the documents of a job and as gui_urls.xml (parts separated by a NUL byte): a job that can be sent has
// all its documents, mirrors replace no more URLs than there are, and placeholders are replaced once.
#include <cstdint>
#include <string>
#include <vector>

#include "sched/rpc/documents.h"
#include "sluice/model/catalogue.h"
#include "tests/fuzz/rpc/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sluice;
    std::vector<std::string> parts(1);
    for (std::size_t i = 0; i < size; ++i) {
        if (data[i] == 0) {
            parts.emplace_back();
        } else {
            parts.back() += static_cast<char>(data[i]);
        }
    }
    parts.resize(5);
    App app;
    app.id = 1;
    AppVersion version;
    version.xml_doc = parts[0];
    ReplyJob job;
    job.app = &app;
    job.app_version = &version;
    job.wu_xml = parts[1];
    job.result_xml = parts[2];
    job.is_buda = size % 2 == 1;
    job.buda_file_refs = parts[4];
    job.version.usage.proc_type = ProcType::kNvidia;
    const bool sendable = !can_send(job).refused();
    const auto version_text = rpc::app_version_document(job, 61000);
    const auto workunit = rpc::workunit_document(job), result = rpc::result_document(job);
    REQUIRE(sendable == (version_text && workunit && result));
    const std::size_t longest = 3 * (30 + size);  // of three mirrors and the path behind them
    for (const auto& document : {version_text, workunit, result}) {
        if (!document) continue;
        const rpc::Mirrors mirrors{"http", {"http://a/", "http://longer.mirror/", parts[4]}};
        REQUIRE(rpc::replace_download_urls(*document, mirrors).size() <= document->size() * (longest + 1));
    }
    SchedulerReply reply;
    reply.extent = ReplyExtent::kFull;
    reply.jobs = {job};
    reply.gui_urls = expand_gui_urls(parts[3], reply);
    REQUIRE(!write_reply(reply).empty());
    reply.team.id = 1;
    reply.user.name = "<userid/>";
    REQUIRE(expand_gui_urls(parts[3], reply).size() <= parts[3].size() * 8 + 1000);
    return 0;
}
