// SPDX-License-Identifier: LGPL-3.0-or-later
// The reader under any sequence of calls on any bytes: the first byte says how many of the following ones are
// calls, the rest is the document. Checked: it ends, moves forward only, and stays inside the document.
#include <cstdint>
#include <cstdlib>

#include "sluice/xml/reader.h"

namespace {

void call(sluice::XmlReader& reader, unsigned char what) {
    switch (what % 9) {
        case 0: reader.next(); break;
        case 1: reader.skip(); break;
        case 2: reader.text(what); break;
        case 3:
            if (reader.text_cut(what).size() > what) std::abort();
            break;
        case 4: reader.integer(); break;
        case 5: reader.number(); break;
        case 6: reader.boolean(); break;
        case 7: reader.raw_to_end(); break;
        default: reader.next_child((what & 16) != 0 ? "a" : "b");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::size_t n_calls = std::min<std::size_t>(data[0], size - 1);
    const std::string_view document(reinterpret_cast<const char*>(data) + 1 + n_calls, size - 1 - n_calls);
    sluice::XmlReader reader(document);
    std::size_t last = 0;
    for (std::size_t i = 0; i < n_calls; ++i) {
        call(reader, data[1 + i]);
        if (reader.position() < last || reader.position() > document.size()) std::abort();
        last = reader.position();
    }
    for (std::size_t i = 0; reader.next() != sluice::XmlReader::Kind::kEof; ++i) {
        if (i > document.size()) std::abort();
    }
    sluice::find_number(document, "a");
    return 0;
}
