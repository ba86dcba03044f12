// SPDX-License-Identifier: LGPL-3.0-or-later
// A project's validator by the C++ interface, which does what upstream's sample_bitwise_validator does: files are
// compared byte by byte.
#include <fstream>
#include <iterator>

#include "sluice/handlers/validator.h"

namespace {

class Bitwise final : public sluice::ResultValidator<std::string> {
  public:
    sluice::Reading<std::string> read(const sluice::ReturnedResult& result) override {
        std::string all;
        for (const sluice::OutputFile& file : result.files) {
            std::ifstream in(file.path, std::ios::binary);
            if (!in) return sluice::BadOutput{"can't read " + file.path.string()};
            all.append(std::istreambuf_iterator<char>(in), {});
        }
        return all;
    }
    bool agree(const std::string& a, const std::string& b) override { return a == b; }
};

}  // namespace

int main(int argc, char** argv) {
    Bitwise validator;
    return sluice::run_validator(argc, argv, validator);
}
