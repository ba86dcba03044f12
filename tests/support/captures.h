// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The captured requests and replies of tests/captures.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>
#include "tests/support/paths.h"

namespace sluice::test {

/// gui_urls.xml of the captured project.
inline constexpr char kCapturedGuiUrls[] =
    "<gui_urls>\n"
    "    <gui_url>\n"
    "        <name>Message boards</name>\n"
    "        <description>Correspond with other users on the <project_name/> message boards</description>\n"
    "        <url><master_url/>forum_index.php</url>\n"
    "    </gui_url>\n"
    "    <gui_url>\n"
    "        <name>Your account</name>\n"
    "        <description>View your account information</description>\n"
    "        <url><master_url/>home.php</url>\n"
    "    </gui_url>\n"
    "    <gui_url>\n"
    "        <name>Your tasks</name>\n"
    "        <description>View the last week or so of computational work</description>\n"
    "        <url><master_url/>results.php?userid=<userid/></url>\n"
    "    </gui_url>\n"
    "    <ifteam>\n"
    "    <gui_url><name>Team</name><url><master_url/>team_display.php?teamid=<teamid/></url></gui_url>\n"
    "    </ifteam>\n"
    "</gui_urls>\n"
    "<rss_feeds>\n"
    "    <rss_feed>\n"
    "        <url><master_url/>notices.php?userid=<userid/>&auth=<rss_auth/></url>\n"
    "        <poll_interval>86400</poll_interval>\n"
    "    </rss_feed>\n"
    "</rss_feeds>\n";

inline std::filesystem::path captures_dir() {
    return std::filesystem::path(sluice::test::source_dir()) / "tests" / "captures";
}

/// capture("01_client_attach_first_contact.request"): the file's bytes. A missing file is a test failure.
inline std::string capture(const std::string& name) {
    std::ifstream in(captures_dir() / (name + ".xml"), std::ios::binary);
    if (!in) ADD_FAILURE() << "no capture " << name;
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

/// Names of all captures that end in `kind` ("request" or "reply"), as capture() takes them, sorted.
inline std::vector<std::string> capture_names(const std::string& kind) {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(captures_dir())) {
        const std::string stem = entry.path().stem().string();
        if (stem.ends_with("." + kind)) out.push_back(stem);
    }
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace sluice::test
