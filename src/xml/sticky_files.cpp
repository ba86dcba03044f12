// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/xml/sticky_files.h"

#include <utility>

#include "sluice/xml/reader.h"

namespace sluice {

// <file_info> … <name>N</name> <nbytes>B</nbytes> <sticky/> … </file_info>
std::vector<StickyInput> sticky_inputs(std::string_view workunit_xml) {
    std::vector<StickyInput> files;
    if (workunit_xml.find("sticky") == workunit_xml.npos) return files;  // the feeder asks for each job
    XmlReader xml(workunit_xml);
    for (auto token = xml.next(); token != XmlReader::Kind::kEof; token = xml.next()) {
        if (token != XmlReader::Kind::kStart || xml.name() != "file_info" || xml.empty_element()) continue;
        StickyInput file;
        bool sticky = false;
        while (xml.next_child("file_info")) {
            if (xml.name() == "name")
                file.name = xml.text(255).value_or("");
            else if (xml.name() == "nbytes")
                file.nbytes = xml.number().value_or(0);
            else if (xml.name() == "sticky")
                sticky = xml.boolean().value_or(false);
            else
                xml.skip();
        }
        if (sticky && !file.name.empty()) files.push_back(std::move(file));
    }
    return files;
}

}  // namespace sluice
