// SPDX-License-Identifier: LGPL-3.0-or-later
// sample_bitwise_validator: compares the output files of a workunit's results byte for byte, finds the canonical
// result, grants credit and keeps the hosts' statistics. Upstream's program of that name, same options.
#include "daemons/validator/program.h"

int main(int argc, char** argv) {
    using namespace sluice;
    const ValidatorProgram program{
        .name = "sample_bitwise_validator",
        .summary = "validate results whose output files must be equal byte for byte",
        .description =
            "A result is canonical when at least min_quorum results were good and more than half of the "
            "quorum agree with it.",
        .options = [](CommandLine& line, ValidatorOptions& o) {
            line.flag("--is_gzip", o.gzip, "output files are compressed with gzip");
        }};
    return validator_main(program, argc, argv);
}
