//===- EngramStore.h - Engram rows from a file, fetched ahead ---*- C++ -*-===//
//
// Compiled code reads Engram tables where they are mapped. The store brings the
// rows of a call into memory before it, so that a disk has many reads to serve
// at once and one that fails is an error with a place: which rows these are the
// model's entries engram_rows.L say, from token ids alone.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_ENGRAMSTORE_H
#define DSFLASH_RUNTIME_ENGRAMSTORE_H

#include "dsflash/Runtime/Executor.h"
#include "dsflash/Runtime/Model.h"

#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dsflash {

class EngramStore {
public:
  /// Opens the tables of a model whose weights are bound. Errors: a file that
  /// cannot be opened, an entry with a tensor that is not known.
  static Result<std::unique_ptr<EngramStore>> create(const Model &model);
  ~EngramStore();
  EngramStore(const EngramStore &) = delete;
  EngramStore &operator=(const EngramStore &) = delete;

  /// Brings the rows that a call with these buffers and extents will use into
  /// memory, all reads in flight at once. Errors name file, table and row: a
  /// read that fails, a file that ends before the row.
  Status fetch(const TensorBuffers &buffers, const CallExtents &extents);

private:
  /// A payload or scale tensor of a table, row by row.
  struct Plane {
    std::string tensor;
    std::string path;
    int descriptor = -1;
    uint64_t offset = 0;
    uint64_t rowBytes = 0;
  };
  struct Table {
    const dsf_entry *entry = nullptr;
    std::vector<Tensor> tensors;
    int64_t columns = 0;
    std::vector<Plane> planes;
  };

  struct Row {
    const Plane *plane = nullptr;
    int64_t number = 0;

    uint64_t offset() const {
      return plane->offset + uint64_t(number) * plane->rowBytes;
    }
  };

  explicit EngramStore(const Model &model) : model(model) {}
  Status addTable(const dsf_entry &entry, const std::string &layer);
  Status addPlane(Table &table, const std::string &tensor, int64_t rows);
  Status findRows(const Table &table, TensorBuffers buffers,
                  const CallExtents &extents, std::vector<int64_t> &rows);
  ssize_t readInto(const Row &row, int flags);
  /// Whether a row can be read without the disk.
  bool isInMemory(const Row &row);
  Status read(const Row &row);

  const Model &model;
  std::vector<Table> tables;
  std::vector<int64_t> rowIds;
  std::vector<char> buffer;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_ENGRAMSTORE_H
