// SPDX-License-Identifier: LGPL-3.0-or-later
// apps/APP/VERSION/PLATFORM[__PLANCLASS], version.xml, and the xml_doc made of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include "config/project/app_version_source.h"
#include "config/project/install_version.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/signing.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

/// Where warnings do not matter.
VersionSpec read_version(const fs::path& folder) {
    std::vector<std::string> warnings;
    return sluice::read_version(folder, warnings);
}

using test::TempDir;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(VersionNumber, MajorDotMinorIsHundreds) {
    EXPECT_EQ(parse_version_number("1.0"), 100);
    EXPECT_EQ(parse_version_number("7.2"), 702);
    EXPECT_EQ(parse_version_number("7.20"), 720);
    EXPECT_EQ(parse_version_number("13"), 13);
    for (const char* text : {"", "x", "1.x", "1.", ".1", "1.2.3", "1.100", "-1", "1.-2", "1 0", "99999999999"}) {
        EXPECT_EQ(parse_version_number(text), std::nullopt) << text;
    }
}

TEST(VersionFolders, AreFoundSorted) {
    TempDir dir;
    dir.write("apps/tiles/1.0/x86_64-pc-linux-gnu__cuda__x/p", "");
    dir.write("apps/tiles/1.0/windows_x86_64/p", "");
    dir.write("apps/tiles/0.9/windows_x86_64/p", "");
    dir.write("apps/tiles/notes/readme", "");
    dir.write("apps/tiles/.git/x/y", "");
    dir.write("apps/a_file", "");
    std::vector<std::string> skipped;
    const auto found = find_version_folders(dir / "apps", skipped);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].version_num, 9);
    EXPECT_EQ(found[1].platform, "windows_x86_64");
    EXPECT_EQ(found[1].plan_class, "");
    EXPECT_EQ(found[2].app, "tiles");
    EXPECT_EQ(found[2].version_num, 100);
    EXPECT_EQ(found[2].platform, "x86_64-pc-linux-gnu");
    EXPECT_EQ(found[2].plan_class, "cuda__x");
    EXPECT_THAT(skipped, ElementsAre(HasSubstr("notes")));
    EXPECT_THROW(find_version_folders(dir / "nowhere", skipped), ConfigError);
}

TEST(Version, ASingleFileIsTheMainProgram) {
    TempDir dir;
    dir.write("tiles_1.0", "program");
    dir.write("tiles_1.0.sig", "signature");
    dir.write(".hidden", "");
    std::vector<std::string> warnings;
    const VersionSpec spec = sluice::read_version(dir.path(), warnings);
    ASSERT_EQ(spec.files.size(), 1U);
    EXPECT_EQ(spec.files[0].physical_name, "tiles_1.0");
    EXPECT_TRUE(spec.files[0].main_program && spec.files[0].executable);
}

TEST(Version, VersionXmlSaysTheRest) {
    TempDir dir;
    dir.write("wrapper_2", "w");
    dir.write("job_2.xml", "j");
    dir.write("sub/data_2", "d");
    dir.write("sub/unlisted", "u");
    dir.write("helper_2", "h");
    ::chmod((dir / "helper_2").c_str(), 0755);
    dir.write("version.xml", R"(<version>
  <file><physical_name>wrapper_2</physical_name><main_program/></file>
  <file><physical_name>job_2.xml</physical_name><logical_name>job.xml</logical_name><copy_file/>
        <url>http://a/job_2.xml</url><url>http://b/job_2.xml</url></file>
  <file><physical_name>sub/data_2</physical_name><gzip/></file>
  <is_wrapper/><needs_network>1</needs_network><dont_throttle>0</dont_throttle><beta/>
  <file_prefix>slots</file_prefix><api_version>7.21.0</api_version>
</version>)");
    std::vector<std::string> warnings;
    const VersionSpec spec = sluice::read_version(dir.path(), warnings);
    ASSERT_EQ(spec.files.size(), 4U);
    const auto file = [&](const std::string& name) {
        return *std::ranges::find(spec.files, name, &VersionFile::physical_name);
    };
    EXPECT_TRUE(file("wrapper_2").main_program);
    EXPECT_TRUE(file("helper_2").executable);
    EXPECT_FALSE(file("job_2.xml").executable);
    EXPECT_EQ(file("job_2.xml").logical_name, "job.xml");
    EXPECT_TRUE(file("job_2.xml").copy_file);
    EXPECT_THAT(file("job_2.xml").urls, ElementsAre("http://a/job_2.xml", "http://b/job_2.xml"));
    EXPECT_TRUE(file("sub/data_2").gzip);
    EXPECT_EQ(file("sub/data_2").path, dir / "sub/data_2");
    EXPECT_THAT(warnings, testing::IsEmpty());
    EXPECT_TRUE(spec.is_wrapper && spec.needs_network && spec.beta);
    EXPECT_FALSE(spec.dont_throttle);
    EXPECT_EQ(spec.file_prefix, "slots");
    EXPECT_EQ(spec.api_version, "7.21.0");
}

TEST(Version, MistakesAreNamed) {
    const auto error_of = [](const std::string& version_xml, std::vector<std::string> files) {
        TempDir dir;
        for (const std::string& file : files) dir.write(file, file);
        if (!version_xml.empty()) dir.write("version.xml", version_xml);
        std::vector<std::string> warnings;
        try {
            sluice::read_version(dir.path(), warnings);
        } catch (const ConfigError& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    EXPECT_THAT(error_of("", {}), HasSubstr("no files"));
    EXPECT_THAT(error_of("", {"a", "b"}), AllOf(HasSubstr("main_program"), HasSubstr("0 of its 2")));
    EXPECT_THAT(error_of("<version><file><physical_name>a</physical_name><main_program/></file>"
                         "<file><physical_name>b</physical_name><main_program/></file></version>",
                         {"a", "b"}),
                HasSubstr("2 of its 2"));
    EXPECT_THAT(error_of("<version><file><physical_name>c</physical_name></file></version>", {"a"}),
                HasSubstr("<physical_name>c"));
    EXPECT_THAT(error_of("<version><file><physical_name>../../etc/passwd</physical_name></file></version>", {"a"}),
                HasSubstr("no such file"));
    EXPECT_THAT(error_of("<version><flie/></version>", {"a"}), HasSubstr("no error"));
    EXPECT_THAT(error_of("<version><file><physical_name>a</physical_name>", {"a"}), HasSubstr("version.xml"));
    EXPECT_THAT(error_of("nothing", {"a"}), HasSubstr("<version>"));
    EXPECT_THAT(error_of("", {"two words"}), HasSubstr("blanks"));
}

TEST(Version, UnknownElementsAreToldAndSkipped) {
    TempDir dir;
    dir.write("a", "a");
    dir.write("b", "b");
    dir.write("version.xml", R"(<version><flie/><file><physical_name>a</physical_name><main_program/><sticky/></file>
<min_libc>2</min_libc></version>)");
    std::vector<std::string> warnings;
    EXPECT_EQ(sluice::read_version(dir.path(), warnings).files.size(), 2U);
    EXPECT_THAT(warnings, testing::UnorderedElementsAre(HasSubstr("<flie> is unknown in <version>"),
                                                        HasSubstr("<sticky> is unknown in <file>"),
                                                        HasSubstr("<min_libc> is unknown in <version>")));
    // What keeps the version from being added does not hide them.
    dir.write("version.xml", "<version><file><physical_name>a</physical_name><main_progam/></file></version>");
    warnings.clear();
    EXPECT_THROW(sluice::read_version(dir.path(), warnings), ConfigError);
    EXPECT_THAT(warnings, ElementsAre(HasSubstr("<main_progam>")));
}

/// A version never changes: what is away now would be missing in it for ever.
TEST(VersionFolders, FileAwayIsNotLeftOutOfVersion) {
    for (const char* name : {"data", "version.xml", "program.sig"}) {
        const TempDir dir;
        dir.write("program", "p");
        std::filesystem::create_symlink(dir / "not_mounted/file", dir / name);
        try {
            read_version(dir.path());
            ADD_FAILURE() << name;
        } catch (const ConfigError& e) {
            EXPECT_THAT(e.what(), AllOf(HasSubstr((dir / name).string()), HasSubstr("leads nowhere")));
        }
    }
}

TEST(VersionFolders, NamesOfPlatformsMayHoldTheSeparator) {
    const std::vector<std::string> known{"x86_64-pc-freebsd", "x86_64-pc-freebsd__sysv", "windows_x86_64"};
    const auto split = [&](const std::string& name) {
        VersionFolder folder{"apps/a/1.0/" + name, "a", "first", "second", 100};
        split_platform(folder, known);
        return folder.platform + " + " + folder.plan_class;
    };
    EXPECT_EQ(split("x86_64-pc-freebsd__sysv"), "x86_64-pc-freebsd__sysv + ");
    EXPECT_EQ(split("x86_64-pc-freebsd__sysv__mt"), "x86_64-pc-freebsd__sysv + mt");
    EXPECT_EQ(split("x86_64-pc-freebsd__mt"), "x86_64-pc-freebsd + mt");
    EXPECT_EQ(split("windows_x86_64__cuda__x"), "windows_x86_64 + cuda__x");
    EXPECT_EQ(split("windows_x86_64"), "windows_x86_64 + ");
    EXPECT_EQ(split("windows_x86_641"), "first + second") << "an unknown platform stays as it was";
}

TEST(ApiVersion, IsTheFirstInTheProgram) {
    EXPECT_EQ(find_api_version(std::string("\0\x7f"
                                           "ELF..API_VERSION_7.20.5\0more API_VERSION_8.0.0",
                                           45)),
              "7.20.5");
    EXPECT_EQ(find_api_version("API_VERSION_x and API_VERSION_1 then API_VERSION_7.1.2"), "7.1.2");
    EXPECT_EQ(find_api_version("API_VERSION_"), "");
    EXPECT_EQ(find_api_version(""), "");
}

TEST(VersionDoc, HasUpstreamsElements) {
    VersionSpec spec;
    VersionFile main_program, data;
    main_program.physical_name = "tiles_1.0";
    main_program.main_program = main_program.executable = true;
    data.physical_name = "data_1";
    data.logical_name = "data";
    data.copy_file = data.gzip = true;
    spec.files = {data, main_program};
    spec.api_version = "7.20.5";
    spec.needs_network = true;
    spec.file_prefix = "p";
    const std::string doc = app_version_doc({"", "tiles", "x86_64-pc-linux-gnu", "", 100}, spec,
                                            {{"aa\n.\n", 7, 5}, {"bb\n.\n", 9, 0}}, "http://h/p/download");
    EXPECT_EQ(doc,
              "<file_info>\n<name>data_1</name>\n<url>http://h/p/download/data_1</url>\n"
              "<gzipped_url>http://h/p/download/data_1.gz</gzipped_url>\n<file_signature>\naa\n.\n</"
              "file_signature>\n"
              "<nbytes>7</nbytes>\n<gzipped_nbytes>5</gzipped_nbytes>\n</file_info>\n"
              "<file_info>\n<name>tiles_1.0</name>\n<url>http://h/p/download/tiles_1.0</url>\n<executable/>\n"
              "<file_signature>\nbb\n.\n</file_signature>\n<nbytes>9</nbytes>\n</file_info>\n"
              "<app_version>\n<app_name>tiles</app_name>\n<version_num>100</version_num>\n<api_version>7.20.5</"
              "api_version>\n"
              "<file_ref>\n<file_name>data_1</file_name>\n<open_name>data</open_name>\n<copy_file/>\n</file_ref>\n"
              "<file_ref>\n<file_name>tiles_1.0</file_name>\n<main_program/>\n</file_ref>\n"
              "<needs_network/>\n<file_prefix>p</file_prefix>\n</app_version>\n");
}

class Install : public testing::Test {
  protected:
    Install() {
        const KeyPairText pair = generate_key_pair();
        dir_.write("keys/private", pair.private_key);
        dir_.write("keys/public", pair.public_key);
        dir_.write("v/tiles_1", "program text");
        std::filesystem::create_directories(dir_ / "download");
    }
    InstallKeys keys() const { return {dir_ / "keys/private", dir_ / "keys/public"}; }
    std::string error_of() {
        try {
            sign_and_check(read_version(dir_ / "v"), keys(), dir_ / "download");
        } catch (const ConfigError& error) {
            return error.what();
        }
        return "no error";
    }
    TempDir dir_;
};

TEST_F(Install, SignsWithTheKeyOrTakesTheSignature) {
    const auto facts = sign_and_check(read_version(dir_ / "v"), keys(), dir_ / "download");
    ASSERT_EQ(facts.size(), 1U);
    EXPECT_EQ(facts[0].nbytes, 12U);
    EXPECT_TRUE(PublicKey::read(keys().public_key).verify("program text", facts[0].signature));

    std::filesystem::remove(dir_ / "keys/private");
    EXPECT_THAT(error_of(), AllOf(HasSubstr("sign_executable"), HasSubstr("tiles_1.sig")));
    dir_.write("v/tiles_1.sig", facts[0].signature);
    EXPECT_EQ(error_of(), "no error");
    dir_.write("v/tiles_1", "another program");
    EXPECT_THAT(error_of(), HasSubstr("does not fit"));
}

TEST_F(Install, FilesAreImmutable) {
    dir_.write("download/tiles_1", "program text");
    EXPECT_EQ(error_of(), "no error");
    dir_.write("download/tiles_1", "older text");
    EXPECT_THAT(error_of(), HasSubstr("another name"));
}

TEST_F(Install, CompressedCopiesUnpackToTheSame) {
    VersionSpec spec = read_version(dir_ / "v");
    spec.files[0].gzip = true;
    auto facts = sign_and_check(spec, keys(), dir_ / "download");
    copy_files(spec, dir_ / "download", facts);
    EXPECT_EQ(read_file(dir_ / "download/tiles_1"), "program text");
    EXPECT_EQ(facts[0].gzipped_nbytes, std::filesystem::file_size(dir_ / "download/tiles_1.gz"));
    const gzFile packed = gzopen((dir_ / "download/tiles_1.gz").c_str(), "rb");
    std::string unpacked(100, '\0');
    unpacked.resize(static_cast<std::size_t>(gzread(packed, unpacked.data(), 100)));
    gzclose(packed);
    EXPECT_EQ(unpacked, "program text");
}

}  // namespace
}  // namespace sluice
