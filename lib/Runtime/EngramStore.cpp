//===- EngramStore.cpp - Engram rows from a file, fetched ahead -----------===//

#include "dsflash/Runtime/EngramStore.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/uio.h>
#include <unistd.h>

using namespace dsflash;

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
  table.planes.push_back({tensor, place.path, descriptor, place.offset,
                          place.bytes / uint64_t(rows)});
  return Status();
}

Status EngramStore::fetch(const TensorBuffers &buffers,
                          const CallExtents &extents) {
  for (const Table &table : tables) {
    std::vector<int64_t> rows;
    if (Status status = findRows(table, buffers, extents, rows); !status)
      return status;
    // First the reads that need the disk are started, then each is waited for.
    std::vector<Row> missing;
    for (const Plane &plane : table.planes)
      for (int64_t row : rows)
        if (!isInMemory({&plane, row}))
          missing.push_back({&plane, row});
    for (const Row &row : missing)
      posix_fadvise(row.plane->descriptor, off_t(row.offset()),
                    off_t(row.plane->rowBytes), POSIX_FADV_WILLNEED);
    for (const Row &row : missing)
      if (Status status = read(row); !status)
        return status;
  }
  return Status();
}

Status EngramStore::findRows(const Table &table, TensorBuffers buffers,
                             const CallExtents &extents,
                             std::vector<int64_t> &rows) {
  rowIds.resize(size_t(extents[DSF_DIM_ROWS] * table.columns));
  buffers[size_t(Tensor::EngramRows)] = rowIds.data();
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
  rows = rowIds;
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return Status();
}

ssize_t EngramStore::readInto(const Row &row, int flags) {
  buffer.resize(row.plane->rowBytes);
  iovec place{buffer.data(), buffer.size()};
  return preadv2(row.plane->descriptor, &place, 1, off_t(row.offset()), flags);
}

bool EngramStore::isInMemory(const Row &row) {
  return readInto(row, RWF_NOWAIT) == ssize_t(row.plane->rowBytes);
}

Status EngramStore::read(const Row &row) {
  ssize_t count = readInto(row, /*flags=*/0);
  if (count == ssize_t(row.plane->rowBytes))
    return Status();
  return Status::error(row.plane->path + ": row " + std::to_string(row.number) +
                           " of " + row.plane->tensor,
                       count < 0
                           ? std::string("cannot read: ") + std::strerror(errno)
                           : "the file ends before it");
}
