// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Input templates (templates/APP_in): how a workunit's XML is made of a job's files. Facts: BOINC's job templates.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemons/work/staging.h"

namespace pugi {
class xml_document;
}

namespace sluice {

struct Workunit;

/// A file of a job: staged (name only) or remote (URL, size and MD5 given; the physical name is jf_MD5).
struct JobFile {
    std::string name;
    bool remote = false;
    std::string url, md5;
    double nbytes = 0;
};

struct TemplateInput {
    std::vector<JobFile> files;  ///< in the order of the template's non-constant <file_info>s
    std::string command_line;    ///< "" = none
    std::string additional_xml;  ///< e.g. <sub_appname>
};

/// As find_staged(): `gzip` where the template asks for FILE.gz.
using FindStaged = std::function<StagedFile(const std::string& name, bool gzip)>;

/// Parsed once, for any number of jobs.
class InputTemplate {
  public:
    /// `name` heads what is said of it. Throws ConfigError if `text` is no XML.
    InputTemplate(std::string name, const std::string& text);
    /// Sets wu.xml_doc, and every number of `wu` that the template gives (it wins over the command line). `staged`
    /// looks up a staged file. Throws ConfigError naming the template and what is wrong.
    void apply(const TemplateInput& input, const FindStaged& staged, Workunit& wu) const;

  private:
    std::string name_;
    std::shared_ptr<const pugi::xml_document> document_;
};

}  // namespace sluice
