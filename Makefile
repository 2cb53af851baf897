# Every target sets up what it needs (see scripts/setup) and uses one profile, release, because RocksDB's C++ takes
# many minutes to compile for each profile. Built files go to ~/.cache/nearstone/target unless CARGO_TARGET_DIR says
# otherwise.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
CARGO := scripts/cargo

.PHONY: help setup build test demo lint deny lib-only bench clean clean-all
.NOTPARALLEL:

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 16

setup: ## check for cargo and a C++ compiler, install libclang if it is missing
	@scripts/setup

build: ## build the library and the program
	@$(CARGO) build --release

# The doctests come first: the last line is then the integration tests' result.
test: ## run all tests
	@$(CARGO) test --release --doc
	@$(CARGO) test --release --lib --bins --tests

demo: ## find the near-duplicate licences and readmes among the sources of the crates in cargo's registry
	@. scripts/env.sh; out=$$CARGO_TARGET_DIR/demo; mkdir -p "$$out"; \
	$(CARGO) run --release --bin nearstone -- dedup "$${CARGO_HOME:-$$HOME/.cargo}/registry/src" \
	    --include 'LICENSE*' --include 'LICENCE*' --include 'COPYING*' --include 'README*' --skip-bad \
	    --out "$$out/kept.txt" --duplicates "$$out/duplicates.jsonl" --show-groups 10; \
	echo; \
	echo "kept files:  $$out/kept.txt"; \
	echo "duplicates:  $$out/duplicates.jsonl"

lint: ## check the format, clippy and the docs; warnings are errors
	@. scripts/env.sh; cargo fmt --check
	@$(CARGO) clippy --release --all-targets -- -D warnings
	@RUSTDOCFLAGS='-D warnings' $(CARGO) doc --release --no-deps

deny: ## check the dependencies' licences and sources
	@scripts/deny

lib-only: ## check the library without the program
	@scripts/lib-only

bench: ## run the benchmarks
	@$(CARGO) bench

clean: ## remove what was built, but keep the dependencies
	@. scripts/env.sh; rm -rf "$$CARGO_TARGET_DIR"/{demo,lib-only,doc}; cargo clean --release -p nearstone

clean-all: ## remove all that was built or downloaded, the compiled RocksDB too
	@. scripts/env.sh; cargo clean; rm -rf "$$cache"
