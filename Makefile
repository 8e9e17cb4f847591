# make demo   installs what is missing, builds, compiles models/nano and lets it write
# make test   builds and runs all tests
# make docs   the dialect and pass reference, from TableGen, into build/docs

BUILD ?= build
JOBS ?= $(shell nproc)
LLVM ?= /usr/lib/llvm-22/bin
PROMPT ?= And it came to pass in those days,
export PATH := $(LLVM):$(PATH)

.PHONY: demo test docs build packages clean

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
	rm -rf $(BUILD)
