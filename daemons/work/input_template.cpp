// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/work/input_template.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <pugixml.hpp>
#include <string_view>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/text.h"
#include "sluice/model/job.h"

namespace sluice {
namespace {

/// Children of <file_info> that say how the file is found; the others are copied into the workunit.
constexpr std::array<std::string_view, 9> kGeneratedTags{
    "number", "physical_name", "url", "md5_cksum", "nbytes", "gzipped_nbytes", "gzip", "name", "gzipped_url"};

struct TextWriter final : pugi::xml_writer {
    std::string text;
    void write(const void* data, std::size_t size) override { text.append(static_cast<const char*>(data), size); }
};

/// The element as text with the indentation of our documents, one line each, no XML header.
std::string as_text(const pugi::xml_node& node, unsigned depth) {
    TextWriter out;
    node.print(out, "    ", pugi::format_indent | pugi::format_no_declaration, pugi::encoding_auto, depth);
    std::string text = std::move(out.text);
    // <copy_file/> as upstream writes it: clients before version 6 compare the whole tag.
    for (std::size_t at = 0; (at = text.find(" />\n", at)) != std::string::npos;) text.erase(at, 1);
    return text;
}

/// Text of a submitter as XML: it can't end its element. What was escaped by hand, as upstream's create_work needs it,
/// is left as it is.
std::string submitted(const std::string& text) { return xml_escape(xml_unescape(text)); }

class Expansion {
  public:
    Expansion(const std::string& template_name, const TemplateInput& input, const FindStaged& staged, Workunit& wu)
        : name_(template_name), input_(input), staged_(staged), wu_(wu) {}

    void run(const pugi::xml_document& document) {
        pugi::xml_node root = document;
        if (const auto wrapper = document.child("input_template")) root = wrapper;
        for (const auto& node : root.children()) {
            const std::string tag = node.name();
            if (tag == "file_info")
                add_file(node);
            else if (tag == "workunit")
                add_workunit(node);
        }
        if (workunits_ != 1) fail("there must be exactly one <workunit>");
        if (next_file_ != input_.files.size())
            fail(fmt::format("the job has {} input files, the template takes {}", input_.files.size(), next_file_));
        if (references_ != names_.size())
            fail(fmt::format("{} <file_ref>s for {} <file_info>s", references_, names_.size()));
        wu_.xml_doc = xml_;
    }

  private:
    [[noreturn]] void fail(const std::string& what) const { throw ConfigError(name_ + ": " + what); }

    void add_file(const pugi::xml_node& node) {
        xml_ += "<file_info>\n";
        for (const auto& child : node.children())
            if (child.type() == pugi::node_element &&
                std::ranges::find(kGeneratedTags, child.name()) == kGeneratedTags.end())
                xml_ += as_text(child, 1);
        const std::string constant = node.child_value("physical_name");
        if (node.child("url"))
            add_template_remote(node);
        else if (!constant.empty())
            add_staged(constant, node);
        else
            add_job_file(node);
        xml_ += "</file_info>\n";
    }

    void add_job_file(const pugi::xml_node& node) {
        if (next_file_ >= input_.files.size())
            fail(fmt::format("the template takes more input files than the {} given", input_.files.size()));
        const JobFile& file = input_.files[next_file_++];
        if (!file.remote) return add_staged(file.name, node);
        if (file.md5.empty() || file.md5.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
            fail("'" + file.md5 + "' is no MD5 of a remote file");
        add_description("jf_" + file.md5, {submitted(file.url)}, file.md5, file.nbytes);
    }

    void add_template_remote(const pugi::xml_node& node) {
        if (next_file_ >= input_.files.size()) fail("no file given for a remote <file_info>");
        const std::string name = input_.files[next_file_++].name;
        std::vector<std::string> urls;
        for (const auto& url : node.children("url")) urls.push_back(xml_escape(url.child_value()) + submitted(name));
        const double nbytes = parse_double(node.child_value("nbytes")).value_or(0);
        if (nbytes <= 0) fail("a remote <file_info> needs <nbytes>");
        add_description(name, urls, xml_escape(node.child_value("md5_cksum")), nbytes);
    }

    void add_staged(const std::string& name, const pugi::xml_node& node) {
        const bool gzip = static_cast<bool>(node.child("gzip"));
        const StagedFile file = staged_(name, gzip);
        if (gzip && file.gzipped_nbytes == 0)
            fail("<gzip/> is asked for, but " + file.name + ".gz is not staged (stage_file --gzip makes it)");
        names_.push_back(file.name);
        const std::string url = xml_escape(file.url);
        xml_ += fmt::format("    <name>{}</name>\n    <url>{}</url>\n", xml_escape(file.name), url);
        if (gzip)
            xml_ += fmt::format("    <gzipped_url>{}.gz</gzipped_url>\n    <gzipped_nbytes>{}</gzipped_nbytes>\n", url,
                                file.gzipped_nbytes);
        xml_ += fmt::format("    <md5_cksum>{}</md5_cksum>\n    <nbytes>{}</nbytes>\n", file.md5, file.nbytes);
    }

    void add_description(const std::string& name, const std::vector<std::string>& urls, const std::string& md5,
                         double nbytes) {
        names_.push_back(name);
        xml_ += fmt::format("    <name>{}</name>\n", xml_escape(name));
        for (const auto& url : urls) xml_ += fmt::format("    <url>{}</url>\n", url);
        xml_ += fmt::format("    <md5_cksum>{}</md5_cksum>\n    <nbytes>{:.0f}</nbytes>\n", md5, nbytes);
    }

    void add_workunit(const pugi::xml_node& node) {
        ++workunits_;
        xml_ += "<workunit>\n";  // the scheduler inserts behind this line
        for (const auto& child : node.children()) {
            if (child.type() != pugi::node_element) continue;
            const std::string tag = child.name();
            if (tag == "file_ref")
                add_reference(child);
            else if (tag == "command_line")
                add_command_line(xml_escape(child.child_value()), true);
            else if (!take_number(tag, child.child_value()))
                xml_ += as_text(child, 1);
        }
        if (!input_.command_line.empty()) add_command_line(submitted(input_.command_line), false);
        xml_ += input_.additional_xml;
        xml_ += "</workunit>\n";
    }

    void add_command_line(const std::string& text, bool from_template) {
        if (from_template && !input_.command_line.empty())
            fail("<command_line> is in the template and on the command line: give it once");
        xml_ += "<command_line>\n" + text + "\n</command_line>\n";
    }

    void add_reference(const pugi::xml_node& node) {
        if (references_ >= names_.size()) fail("more <file_ref>s than <file_info>s");
        const std::string& file = names_[references_++];
        std::string open_name = std::string(trim(node.child_value("open_name")));
        const bool copy = static_cast<bool>(node.child("copy_file"));
        if (open_name.empty() && !copy) fail("a <file_ref> needs <open_name> or <copy_file/>");
        if (open_name.empty()) open_name = file;
        xml_ += fmt::format("<file_ref>\n    <file_name>{}</file_name>\n    <open_name>{}</open_name>\n",
                            xml_escape(file), xml_escape(open_name));
        for (const auto& child : node.children()) {
            const std::string tag = child.name();
            if (child.type() == pugi::node_element && tag != "file_number" && tag != "open_name" && tag != "file_name")
                xml_ += as_text(child, 1);
        }
        xml_ += "</file_ref>\n";
    }

    /// True if `tag` is a number of the workunit's row.
    bool take_number(const std::string& tag, const std::string& value) {
        const auto real = [&](double& target) { target = number(tag, value); };
        const auto whole = [&](int& target) { target = clamp_to_int32(number(tag, value)); };
        if (tag == "rsc_fpops_est")
            real(wu_.rsc_fpops_est);
        else if (tag == "rsc_fpops_bound")
            real(wu_.rsc_fpops_bound);
        else if (tag == "rsc_memory_bound")
            real(wu_.rsc_memory_bound);
        else if (tag == "rsc_disk_bound")
            real(wu_.rsc_disk_bound);
        else if (tag == "rsc_bandwidth_bound")
            real(wu_.rsc_bandwidth_bound);
        else if (tag == "batch")
            wu_.batch = batch_id(value);
        else if (tag == "delay_bound")
            wu_.delay_bound = clamp_to_int32(number(tag, value));
        else if (tag == "min_quorum")
            whole(wu_.min_quorum);
        else if (tag == "target_nresults")
            whole(wu_.target_nresults);
        else if (tag == "max_error_results")
            whole(wu_.max_error_results);
        else if (tag == "max_total_results")
            whole(wu_.max_total_results);
        else if (tag == "max_success_results")
            whole(wu_.max_success_results);
        else if (tag == "size_class")
            whole(wu_.size_class);
        else
            return false;
        return true;
    }

    Id batch_id(const std::string& value) const {
        const double id = number("batch", value);
        if (!(id >= 0 && id <= INT32_MAX)) fail("<batch>" + value + "</batch> is out of range: 0 to 2147483647");
        return static_cast<Id>(id);
    }
    double number(const std::string& tag, const std::string& value) const {
        const auto parsed = parse_double(value);
        if (!parsed || trim(value).empty()) fail("<" + tag + ">" + value + "</" + tag + "> is no number");
        return *parsed;
    }

    const std::string& name_;
    const TemplateInput& input_;
    const FindStaged& staged_;
    Workunit& wu_;
    std::string xml_;
    std::vector<std::string> names_;  ///< physical names, in the order of the <file_info>s
    std::size_t next_file_ = 0, references_ = 0;
    int workunits_ = 0;
};

}  // namespace

InputTemplate::InputTemplate(std::string name, const std::string& text) : name_(std::move(name)) {
    auto document = std::make_shared<pugi::xml_document>();
    const auto parsed =
        document->load_string(text.c_str(), pugi::parse_default | pugi::parse_fragment | pugi::parse_trim_pcdata);
    if (!parsed) throw ConfigError(fmt::format("{}: {} at byte {}", name_, parsed.description(), parsed.offset));
    document_ = std::move(document);
}

void InputTemplate::apply(const TemplateInput& input, const FindStaged& staged, Workunit& wu) const {
    Expansion(name_, input, staged, wu).run(*document_);
}

}  // namespace sluice
