//===- EngramStore.cpp - Engram rows from a file, fetched ahead -----------===//

#include "dsflash/Runtime/EngramStore.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <string_view>
#include <sys/mman.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

using namespace dsflash;

/// Of the scales behind the payload on a device.
static constexpr int64_t kPlaneAlignment = 256;
static constexpr std::string_view kEntryPrefix = "engram_rows.";

Result<std::unique_ptr<EngramStore>> EngramStore::create(const Model &model) {
  std::unique_ptr<EngramStore> store(new EngramStore(model));
  const dsf_module &module = model.module();
  Status faults;
  for (int64_t i = 0; i < module.entry_count; ++i) {
    std::string_view name = module.entries[i].name;
    if (name.substr(0, kEntryPrefix.size()) == kEntryPrefix)
      faults.add(store->addTable(
          module.entries[i], std::string(name.substr(kEntryPrefix.size()))));
  }
  if (!faults)
    return faults;
  return store;
}

EngramStore::~EngramStore() {
  for (const Table &table : tables)
    for (const Plane &plane : table.planes)
      close(plane.descriptor);
}

Status EngramStore::addTable(const dsf_entry &entry, const std::string &layer) {
  Table &table = tables.emplace_back();
  table.entry = &entry;
  table.store = this;
  Status faults;
  for (int64_t i = 0; i < entry.tensor_count; ++i) {
    std::optional<Tensor> tensor = tensorOfName(entry.tensors[i].name);
    if (!tensor) {
      faults.add(model.path() + "/model.so: entry '" + entry.name + "'",
                 std::string("tensor '") + entry.tensors[i].name +
                     "' is not known to this runtime");
      continue;
    }
    table.tensors.push_back(*tensor);
    if (*tensor == Tensor::EngramRows)
      table.columns = entry.tensors[i].row_elements;
  }
  if (!faults)
    return faults;
  const dsf_module &module = model.module();
  std::string name = "layers." + layer + ".engram.embed.weight";
  for (int64_t i = 0; i < module.weight_count; ++i) {
    const dsf_weight &weight = module.weights[i];
    if (weight.tensor != name)
      continue;
    table.slot = weight.slot;
    faults.add(addPlane(table, weight.tensor, weight.rows));
    if (weight.planes == 2)
      faults.add(addPlane(table, weight.scale, weight.rows));
  }
  return faults;
}

Status EngramStore::addPlane(Table &table, const std::string &tensor,
                             int64_t rows) {
  BoundWeights::Place place = model.weights()->placeOf(tensor);
  int descriptor = open(place.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return Status::error(place.path,
                         std::string("cannot open: ") + std::strerror(errno));
  const void *mapped =
      model.weights()->slots()[table.slot + int64_t(table.planes.size())];
  table.planes.push_back({tensor, place.path, descriptor, place.offset,
                          place.bytes / uint64_t(rows), rows,
                          static_cast<char *>(const_cast<void *>(mapped))});
  return Status();
}

Status EngramStore::start(const TensorBuffers &buffers,
                          const CallExtents &extents) {
  if (!fault)
    return fault;
  for (Table &table : tables) {
    if (Status status = findRows(table, buffers, extents); !status)
      return status;
    std::vector<int64_t> rows = table.rows;
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    table.reads.clear();
    for (const Plane &plane : table.planes)
      for (int64_t row : rows)
        if (!isInMemory({&plane, row}))
          table.reads.push_back({&plane, row});
    for (const Row &row : table.reads)
      posix_fadvise(row.plane->descriptor, off_t(row.offset()),
                    off_t(row.plane->rowBytes), POSIX_FADV_WILLNEED);
  }
  return Status();
}

/// Whole pages around bytes of memory.
static std::pair<char *, size_t> pagesOf(char *begin, uint64_t bytes) {
  auto page = uintptr_t(sysconf(_SC_PAGESIZE));
  auto first = uintptr_t(begin) / page * page;
  return {reinterpret_cast<char *>(first), uintptr_t(begin) + bytes - first};
}

void EngramStore::await(int64_t slot) {
  for (const Table &table : tables)
    if (table.slot == slot)
      awaitTable(table);
}

void EngramStore::awaitAll() {
  for (const Table &table : tables)
    awaitTable(table);
}

void EngramStore::awaitTable(const Table &table) {
  for (const Row &row : table.reads) {
    Status status = read(row);
    if (status)
      continue;
    if (fault)
      fault = status;
    // Compiled code goes on to the end of the call, where no file is.
    const Plane &plane = *row.plane;
    auto [begin, bytes] = pagesOf(
        plane.mapped + uint64_t(row.number) * plane.rowBytes, plane.rowBytes);
    mmap(begin, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
         0);
  }
}

int64_t EngramStore::startedReads() const {
  int64_t reads = 0;
  for (const Table &table : tables)
    reads += int64_t(table.reads.size());
  return reads;
}

void EngramStore::forget() const {
  for (const Table &table : tables)
    for (const Plane &plane : table.planes) {
      auto [begin, bytes] = pagesOf(plane.mapped, plane.bytes());
      madvise(begin, bytes, MADV_DONTNEED);
      posix_fadvise(plane.descriptor, off_t(plane.offset), off_t(plane.bytes()),
                    POSIX_FADV_DONTNEED);
    }
}

void EngramStore::readAtRandom(int threads) const {
  auto readShare = [&](int share) {
    std::mt19937_64 random{uint64_t(share)};
    std::vector<char> bytes;
    for (const Table &table : tables)
      for (size_t i = size_t(share); i < table.reads.size();
           i += size_t(threads)) {
        const Plane &plane = *table.reads[i].plane;
        bytes.resize(plane.rowBytes);
        Row row{&plane, int64_t(random() % uint64_t(plane.rows))};
        if (pread(plane.descriptor, bytes.data(), bytes.size(),
                  off_t(row.offset())) < 0)
          return;
      }
  };
  std::vector<std::thread> readers;
  for (int share = 0; share < threads; ++share)
    readers.emplace_back(readShare, share);
  for (std::thread &reader : readers)
    reader.join();
}

Status EngramStore::findRows(Table &table, TensorBuffers buffers,
                             const CallExtents &extents) {
  table.rows.resize(size_t(extents[DSF_DIM_ROWS] * table.columns));
  buffers[size_t(Tensor::EngramRows)] = table.rows.data();
  std::vector<void *> pointers;
  for (Tensor tensor : table.tensors)
    pointers.push_back(buffers[size_t(tensor)]);
  int64_t units = *std::max_element(extents.begin(), extents.end());
  Workspace workspace;
  if (Status status = workspace.grow(table.entry->workspace_row_bytes * units +
                                     table.entry->workspace_fixed_bytes);
      !status)
    return status;
  dsf_env env{};
  env.parallel_for = [](void *, dsf_task task, void *context, int64_t count) {
    task(context, 0, count);
  };
  dsf_call call{&env,
                model.weights()->slots(),
                nullptr,
                pointers.data(),
                workspace.data(),
                {extents[0], extents[1], extents[2]}};
  if (int32_t code = table.entry->function(&call))
    return Status::error(std::string("entry '") + table.entry->name + "'",
                         "compiled code failed with code " +
                             std::to_string(code));
  return Status();
}

Status EngramStore::prefetch(DeviceModel &device) {
  for (Table &table : tables) {
    auto rows = int64_t(table.rows.size());
    int64_t payload = rows * int64_t(table.planes.front().rowBytes);
    int64_t scales =
        (payload + kPlaneAlignment - 1) / kPlaneAlignment * kPlaneAlignment;
    int64_t bytes = scales + rows * int64_t(table.planes.back().rowBytes);
    bool grows = bytes > table.capacity;
    if (grows) {
      Result<DeviceBuffer> shared =
          device.device().allocateShared("Engram rows", bytes);
      if (!shared)
        return shared.status();
      Result<DeviceBuffer> staged =
          device.device().allocate("Engram rows", bytes, DSF_READ);
      if (!staged)
        return staged.status();
      table.shared = std::move(*shared);
      table.staged = std::move(*staged);
      table.capacity = bytes;
    }
    auto *begin = static_cast<char *>(table.staged.data());
    Status status;
    if (grows)
      status = device.setWeight(table.slot, begin);
    if (status && (grows || scales != table.scales))
      status = device.setWeight(table.slot + 1, begin + scales);
    table.scales = scales;
    if (status)
      status = device.device().prefetch(table.slot, fill, &table, table.staged,
                                        table.shared, bytes);
    if (!status)
      return status;
  }
  return Status();
}

void EngramStore::fill(void *context) {
  const Table &table = *static_cast<Table *>(context);
  auto *to = static_cast<char *>(table.shared.data());
  for (const Plane &plane : table.planes) {
    if (&plane != &table.planes.front())
      to = static_cast<char *>(table.shared.data()) + table.scales;
    for (int64_t row : table.rows) {
      Status status = table.store->readTo({&plane, row}, to);
      if (!status && table.store->fault)
        table.store->fault = status;
      to += plane.rowBytes;
    }
  }
}

Status EngramStore::readTo(const Row &row, char *to) {
  const Plane &plane = *row.plane;
  if (model.weights()->holdsEngramTables()) {
    std::memcpy(to, plane.mapped + uint64_t(row.number) * plane.rowBytes,
                plane.rowBytes);
    return Status();
  }
  return check(row, readWhole(row, to));
}

ssize_t EngramStore::readWhole(const Row &row, char *to) {
  const Plane &plane = *row.plane;
  size_t done = 0;
  while (done < plane.rowBytes) {
    ssize_t count = pread(plane.descriptor, to + done, plane.rowBytes - done,
                          off_t(row.offset() + done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return count < 0 ? count : ssize_t(done);
    done += size_t(count);
  }
  return ssize_t(done);
}

bool EngramStore::isInMemory(const Row &row) {
  buffer.resize(row.plane->rowBytes);
  iovec place{buffer.data(), buffer.size()};
  return preadv2(row.plane->descriptor, &place, 1, off_t(row.offset()),
                 RWF_NOWAIT) == ssize_t(row.plane->rowBytes);
}

Status EngramStore::read(const Row &row) {
  buffer.resize(row.plane->rowBytes);
  return check(row, readWhole(row, buffer.data()));
}

Status EngramStore::check(const Row &row, ssize_t count) {
  if (count == ssize_t(row.plane->rowBytes))
    return Status();
  return Status::error(row.plane->path + ": row " + std::to_string(row.number) +
                           " of " + row.plane->tensor,
                       count < 0
                           ? std::string("cannot read: ") + std::strerror(errno)
                           : "the file ends before it");
}
