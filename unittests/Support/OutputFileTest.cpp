//===- OutputFileTest.cpp - Files, links, pipes ---------------------------===//

#include "dsflash/Support/OutputFile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace dsflash;

namespace {

class OutputFileTest : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() /
             ("dsflash-output-" + std::to_string(getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string at(const std::string &name) const { return folder / name; }
  std::string content(const std::string &name) const {
    std::ifstream file(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t entries() const {
    return size_t(std::distance(fs::directory_iterator(folder), {}));
  }

  fs::path folder;
};

TEST_F(OutputFileTest, AppearsAtTheEndOnly) {
  std::ofstream(at("f")) << "old";
  {
    Result<OutputFile> unfinished = OutputFile::create(at("f"));
    ASSERT_TRUE(unfinished.ok());
    EXPECT_TRUE(unfinished->write("new").ok());
    EXPECT_EQ(content("f"), "old");
  }
  EXPECT_EQ(entries(), 1u);
  EXPECT_TRUE(writeTextFile(at("f"), "new").ok());
  EXPECT_EQ(content("f"), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFileTest, LinksStay) {
  std::ofstream(at("target")) << "old";
  fs::create_symlink("target", at("link"));
  fs::create_symlink("nowhere", at("dangling"));
  EXPECT_TRUE(writeTextFile(at("link"), "new").ok());
  EXPECT_TRUE(writeTextFile(at("dangling"), "made").ok());
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_TRUE(fs::is_symlink(at("dangling")));
  EXPECT_EQ(content("target"), "new");
  EXPECT_EQ(content("nowhere"), "made");
}

TEST_F(OutputFileTest, DevicesAreWrittenNotReplaced) {
  EXPECT_TRUE(writeTextFile("/dev/null", "lost").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));

  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = content("pipe"); });
  EXPECT_TRUE(writeTextFile(at("pipe"), "through").ok());
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));

  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_TRUE(
      writeTextFile("/proc/self/fd/" + std::to_string(ends[1]), "x").ok());
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'x');

  Status full = writeTextFile("/dev/full", "text");
  EXPECT_EQ(full.str(), "/dev/full: cannot write: No space left on device");
}

TEST_F(OutputFileTest, Faults) {
  EXPECT_EQ(writeTextFile(at("no/f"), "").str(),
            at("no/f") + ": cannot write: No such file or directory");
  EXPECT_EQ(writeTextFile(folder, "").str(),
            folder.string() + ": cannot write: Is a directory");
}

} // namespace
