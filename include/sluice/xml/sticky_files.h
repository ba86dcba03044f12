// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which of a workunit's input files stay on the host: those that locality is about.
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct StickyInput {
    std::string name;   ///< physical, not empty
    double nbytes = 0;  ///< 0: not said
};
/// The sticky <file_info>s of workunit.xml_doc, in order.
std::vector<StickyInput> sticky_inputs(std::string_view workunit_xml);

}  // namespace sluice
