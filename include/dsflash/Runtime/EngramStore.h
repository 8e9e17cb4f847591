//===- EngramStore.h - Engram rows from a file, fetched ahead ---*- C++ -*-===//
//
// Compiled code reads Engram tables where they are mapped. The store starts the
// reads of a call's rows before it, so that a disk has many to serve at once
// and one that fails is an error with a place: which rows these are the model's
// entries engram_rows.L say, from token ids alone. The reads are under way
// while the layers before a table's run, which waits for them.
//
// On a device a table is the rows of the call, one behind the other in the
// order in which they are looked up. They come by way of pinned memory, beside
// the kernels of the layers before.
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

  /// Starts to read the rows that a call with these buffers and extents will
  /// use, all of them at once. Errors: a failure of compiled code; a row of an
  /// earlier call that could not be read.
  Status start(const TensorBuffers &buffers, const CallExtents &extents);
  /// Starts to bring the rows of that call to a device, whose launches wait for
  /// them. Error: no memory there, or what the device says.
  Status prefetch(DeviceModel &device);
  /// Waits for the rows of the table in that slot, for Executor::run.
  void await(int64_t slot);
  void awaitAll();
  /// What failed, by file, table and row: a read, a file that ends before the
  /// row. The results of that call and of later ones are worth nothing.
  const Status &status() const { return fault; }

  /// Reads that await waits for, of all tables together.
  int64_t startedReads() const;
  /// Drops what the system keeps of the tables, for measurements.
  void forget() const;
  /// Reads as many rows as are started, at random places of the same tables, on
  /// so many threads; for comparison.
  void readAtRandom(int threads) const;

private:
  /// A payload or scale tensor of a table, row by row.
  struct Plane {
    std::string tensor;
    std::string path;
    int descriptor = -1;
    uint64_t offset = 0;
    uint64_t rowBytes = 0;
    int64_t rows = 0;
    char *mapped = nullptr; ///< what compiled code reads

    uint64_t bytes() const { return uint64_t(rows) * rowBytes; }
  };
  struct Row {
    const Plane *plane = nullptr;
    int64_t number = 0;

    uint64_t offset() const {
      return plane->offset + uint64_t(number) * plane->rowBytes;
    }
  };

  struct Table {
    const dsf_entry *entry = nullptr;
    std::vector<Tensor> tensors;
    int64_t columns = 0;
    int64_t slot = 0;
    std::vector<Plane> planes;
    /// Of the call: those that wait for the disk, and all as they are used.
    std::vector<Row> reads;
    std::vector<int64_t> rows;
    EngramStore *store = nullptr;
    /// Of a device: memory of both sides, its own, the bytes of each, and the
    /// place of the scales.
    DeviceBuffer shared, staged;
    int64_t capacity = 0, scales = 0;
  };

  explicit EngramStore(const Model &model) : model(model) {}
  Status addTable(const dsf_entry &entry, const std::string &layer);
  Status addPlane(Table &table, const std::string &tensor, int64_t rows);
  Status findRows(Table &table, TensorBuffers buffers,
                  const CallExtents &extents);
  void awaitTable(const Table &table);
  /// A dsf_fill: the rows of a table to its shared memory.
  static void fill(void *table);
  Status readTo(const Row &row, char *to);
  /// Reads on where a read was interrupted or gave a part. The bytes of the row
  /// that the file has, or -1.
  static ssize_t readWhole(const Row &row, char *to);
  /// Whether a row can be read without the disk.
  bool isInMemory(const Row &row);
  Status read(const Row &row);
  /// What it means that a read of a row gave so many bytes.
  static Status check(const Row &row, ssize_t count);

  const Model &model;
  std::vector<Table> tables;
  std::vector<char> buffer;
  Status fault;
};

} // namespace dsflash

#endif // DSFLASH_RUNTIME_ENGRAMSTORE_H
