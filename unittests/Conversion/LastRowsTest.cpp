//===- LastRowsTest.cpp - Rows that the last ones of a prompt need --------===//

#include "CompiledModel.h"
#include <gtest/gtest.h>

using namespace dsflash_test;

namespace {
/// Adds the value of every chosen row to it: those of one narrowing, of two,
/// and of one that leaves rows out.
const char *model = R"(
!ids = tensor<?xi32>
!table = tensor<?x2xi32>
!x = tensor<?x1xf32>
module {
  func.func @forward(
      %x: !x {dsflash.name = "x", dsflash.dim = "rows"},
      %a: !x {dsflash.name = "a", dsflash.dim = "rows", bufferization.writable = true},
      %b: !x {dsflash.name = "b", dsflash.dim = "rows", bufferization.writable = true},
      %c: !x {dsflash.name = "c", dsflash.dim = "rows", bufferization.writable = true},
      %sequence: !ids {dsflash.name = "sequence", dsflash.dim = "rows"},
      %position: !ids {dsflash.name = "position", dsflash.dim = "rows"},
      %extents: !table {dsflash.name = "extents", dsflash.dim = "sequences"},
      %wanted: !ids {dsflash.name = "wanted", dsflash.dim = "sequences"})
      -> (!x {dsflash.name = "five", dsflash.dim = "rows"},
          !x {dsflash.name = "two", dsflash.dim = "rows"},
          !x {dsflash.name = "but", dsflash.dim = "rows"}) {
    %0:4 = dsflash.last_rows %sequence, %position, %extents wanted %wanted {count = 5 : i64}
      : (!ids, !ids, !table, !ids) -> (!ids, !ids, !ids, !table)
    %1:4 = dsflash.last_rows %0#1, %0#2, %0#3 wanted %wanted {count = 2 : i64}
      : (!ids, !ids, !table, !ids) -> (!ids, !ids, !ids, !table)
    %2:4 = dsflash.last_rows %0#1, %0#2, %0#3 wanted %wanted {count = 4 : i64, skip = 2 : i64}
      : (!ids, !ids, !table, !ids) -> (!ids, !ids, !ids, !table)
    %x0 = dsflash.gather_rows %x, %0#0 : (!x, !ids) -> !x
    %five = dsflash.add_rows %x0, %a, %0#0 : (!x, !x, !ids) -> !x
    %x1 = dsflash.gather_rows %x0, %1#0 : (!x, !ids) -> !x
    %r1 = dsflash.gather_rows %0#0, %1#0 : (!ids, !ids) -> !ids
    %two = dsflash.add_rows %x1, %b, %r1 : (!x, !x, !ids) -> !x
    %x2 = dsflash.gather_rows %x0, %2#0 : (!x, !ids) -> !x
    %r2 = dsflash.gather_rows %0#0, %2#0 : (!ids, !ids) -> !ids
    %but = dsflash.add_rows %x2, %c, %r2 : (!x, !x, !ids) -> !x
    return %five, %two, %but : !x, !x, !x
  }
})";

/// A sequence's rows of a call and how many of its last ones are wanted, less
/// the rows that follow in later calls.
struct Part {
  int32_t rows, wanted;
};

void check(CompiledModel &module, const std::vector<Part> &parts) {
  std::vector<std::pair<int32_t, int32_t>> sequences;
  Ints wanted;
  Floats five, two, but;
  for (const Part &part : parts) {
    sequences.push_back({100, part.rows});
    wanted.push_back(part.wanted);
    for (int32_t i = 0; i < part.rows; ++i) {
      auto value = float(five.size() + 1);
      // Row j of the sequence is needed for rows j to j + reach - 1.
      auto isNeeded = [&part, last = part.rows - 1 - i](int32_t reach) {
        return last < part.wanted - 1 + reach;
      };
      five.push_back(isNeeded(5) ? value : 0);
      two.push_back(isNeeded(2) ? value : 0);
      but.push_back(isNeeded(4) && !isNeeded(2) ? value : 0);
    }
  }
  Floats x, a(five.size()), b(five.size()), c(five.size());
  for (size_t i = 0; i < five.size(); ++i)
    x.push_back(float(i + 1));
  module.run(Rows(sequences), {},
             {{"x", x.data()},
              {"a", a.data()},
              {"b", b.data()},
              {"c", c.data()},
              {"five", a.data()},
              {"two", b.data()},
              {"but", c.data()},
              {"wanted", wanted.data()}});
  EXPECT_EQ(a, five);
  EXPECT_EQ(b, two);
  EXPECT_EQ(c, but);
}

TEST(LastRowsTest, WantedRows) {
  CompiledModel module(model);
  check(module, {{9, 1}});
  check(module, {{3, 1}, {8, 3}, {1, 1}, {4, 4}});
}

TEST(LastRowsTest, RowsThatLaterCallsContinue) {
  CompiledModel module(model);
  for (int32_t wanted = 0; wanted > -7; --wanted)
    check(module, {{6, wanted}});
  check(module, {{2, -3}, {6, -1}, {5, -100}, {3, 2}, {4, 0}});
}
} // namespace
