// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/unit/upstream/case_records.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace sluice::test {
namespace {

std::string joined(const std::set<std::string>& all, const char* between) {
    std::string text;
    for (const std::string& one : all) text += (text.empty() ? "" : between) + one;
    return text;
}

}  // namespace

void write_case_records(const std::filesystem::path& file, const CaseRecords& records) {
    std::map<std::string, int> numbers;
    for (const auto& [seed, cases] : records)
        for (const auto& [n, d] : cases)
            for (const std::string& m : d.messages) numbers.try_emplace(m, static_cast<int>(numbers.size()) + 1);
    std::ofstream out(file);
    out << "# Decisions of upstream's scheduler on made-up cases (case_world.h). message NUMBER TEXT; world SEED;\n"
           "# REQUEST DELAY MESSAGES|RESULT VERSION SECONDS-TO-DEADLINE PEAK-FLOPS;…\n";
    for (const auto& [text, number] : numbers) out << "message " << number << " " << text << "\n";
    for (const auto& [seed, cases] : records) {
        out << "world " << seed << "\n";
        for (const auto& [n, d] : cases) {
            std::set<std::string> messages;
            for (const std::string& m : d.messages) messages.insert(std::to_string(numbers.at(m)));
            out << n << " " << d.delay << " " << joined(messages, ",") << "|" << joined(d.jobs, ";") << "\n";
        }
    }
}

CaseRecords read_case_records(const std::filesystem::path& file) {
    CaseRecords records;
    std::map<std::string, std::string> messages;
    std::map<int, CaseDecision>* world = nullptr;
    std::ifstream in(file);
    if (!in) throw std::runtime_error("no " + file.string());
    const auto parts = [](const std::string& text, char between) {
        std::vector<std::string> all;
        std::istringstream stream(text);
        for (std::string one; std::getline(stream, one, between);) all.push_back(one);
        return all;
    };
    for (std::string line; std::getline(in, line);) {
        if (line.empty() || line[0] == '#') continue;
        const std::size_t blank = line.find(' '), second = line.find(' ', blank + 1), bar = line.find('|');
        if (line.rfind("message ", 0) == 0) {
            messages[line.substr(blank + 1, second - blank - 1)] = line.substr(second + 1);
        } else if (line.rfind("world ", 0) == 0) {
            world = &records[std::stoull(line.substr(blank + 1))];
        } else {
            if (!world || second == std::string::npos || bar == std::string::npos)
                throw std::runtime_error(file.string() + ": " + line);
            CaseDecision& d = (*world)[std::stoi(line)];
            d.delay = line.substr(blank + 1, second - blank - 1);
            for (const std::string& m : parts(line.substr(second + 1, bar - second - 1), ','))
                d.messages.insert(messages.at(m));
            for (const std::string& job : parts(line.substr(bar + 1), ';')) d.jobs.insert(job);
        }
    }
    return records;
}

std::string difference(const CaseDecision& ours, const CaseDecision& upstream) {
    if (ours.jobs != upstream.jobs)
        return fmt::format("jobs: ours {{{}}} ({}), upstream's {{{}}} ({})", joined(ours.jobs, "; "),
                           joined(ours.messages, "; "), joined(upstream.jobs, "; "), joined(upstream.messages, "; "));
    return "";
}

}  // namespace sluice::test
