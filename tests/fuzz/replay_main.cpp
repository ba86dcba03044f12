// SPDX-License-Identifier: LGPL-3.0-or-later
// Runs a fuzz target once on every file of the folders (or files) given: what fuzzing found stays found, with any
// compiler and sanitizer. With --mutations N also on N random neighbours of each, the same in every run. No input at
// all is a failure.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/mutate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

void run_on(const std::string& text) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

/// Where a crash is looked for.
void keep(const std::string& text, const std::string& file) { std::ofstream(file, std::ios::binary) << text; }

}  // namespace

int main(int argc, char** argv) {
    std::vector<fs::path> files;
    int mutations = 0;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--mutations" && i + 1 < argc) {
            mutations = std::atoi(argv[++i]);
        } else if (fs::is_directory(word)) {
            for (const auto& entry : fs::directory_iterator(word)) files.push_back(entry.path());
        } else {
            files.emplace_back(word);
        }
    }
    std::ranges::sort(files);
    std::vector<std::string> texts;
    for (const fs::path& file : files) {
        std::ifstream in(file, std::ios::binary);
        texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
        if (!in) {
            std::fprintf(stderr, "can't read %s\n", file.c_str());
            return 1;
        }
        run_on(texts.back());
    }
    // The input that ends the program is in this file.
    const std::string last = std::string(argv[0]) + ".last_input";
    std::mt19937_64 random(1);
    for (const std::string& text : texts)
        for (int i = 0; i < mutations; ++i) {
            const std::string neighbour = sluice::fuzz::mutated(text, texts, random);
            keep(neighbour, last);
            run_on(neighbour);
        }
    if (mutations > 0) fs::remove(last);
    std::printf("%zu inputs, %d mutations of each\n", files.size(), mutations);
    return files.empty() ? 1 : 0;
}
