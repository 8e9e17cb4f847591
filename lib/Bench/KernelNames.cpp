//===- KernelNames.cpp - Which kernel a task is ---------------------------===//

#include "KernelNames.h"
#include "dsflash/Support/MappedFile.h"

#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <vector>

using namespace dsflash;

/// What the compiler calls the task of a kernel.
static constexpr std::string_view kTaskSuffix = ".task";

/// `count` values at an offset of the file; fewer if they are not in it.
template <typename T>
static std::vector<T> readTable(std::string_view file, uint64_t offset,
                                uint64_t count) {
  if (offset > file.size() || count > (file.size() - offset) / sizeof(T))
    return {};
  std::vector<T> values(count);
  if (count)
    std::memcpy(values.data(), file.data() + offset, count * sizeof(T));
  return values;
}

void KernelNames::read(const char *path) {
  wasRead = true;
  Result<MappedFile> library = MappedFile::open(path);
  if (!library)
    return;
  std::string_view file = library->text();
  std::vector<Elf64_Ehdr> header = readTable<Elf64_Ehdr>(file, 0, 1);
  if (header.empty())
    return;
  std::vector<Elf64_Shdr> sections =
      readTable<Elf64_Shdr>(file, header[0].e_shoff, header[0].e_shnum);
  for (const Elf64_Shdr &section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size())
      continue;
    const Elf64_Shdr &strings = sections[section.sh_link];
    std::vector<char> text =
        readTable<char>(file, strings.sh_offset, strings.sh_size);
    for (const Elf64_Sym &symbol : readTable<Elf64_Sym>(
             file, section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      if (symbol.st_name >= text.size())
        continue;
      const char *start = text.data() + symbol.st_name;
      std::string name(start, strnlen(start, text.size() - symbol.st_name));
      if (name.size() > kTaskSuffix.size() &&
          name.compare(name.size() - kTaskSuffix.size(), kTaskSuffix.size(),
                       kTaskSuffix) == 0)
        names[symbol.st_value] =
            name.substr(0, name.size() - kTaskSuffix.size());
    }
  }
}

std::string KernelNames::name(dsf_task task) {
  Dl_info info{};
  void *address = reinterpret_cast<void *>(task);
  if (!dladdr(address, &info))
    return "unknown";
  if (!wasRead)
    read(info.dli_fname);
  uint64_t offset = reinterpret_cast<uint64_t>(address) -
                    reinterpret_cast<uint64_t>(info.dli_fbase);
  auto found = names.find(offset);
  return found != names.end() ? found->second : std::to_string(offset);
}
