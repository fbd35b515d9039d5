# Each line can be run by hand.

# The folder of release builds.
programs = $(or $(CARGO_TARGET_DIR),target)/release
comma = ,

.PHONY: demo test test-realtime bench soak docs deny c python deb static container test-packages

# A RIC, a base station with 32 UEs and an xApp in one process. DEMO_SECONDS=10 ends it by itself. It is built with the features
# that it needs, in a folder of its own, so that target/release/ferric always is the complete program.
demo:
	cargo run --release --target-dir $(or $(CARGO_TARGET_DIR),target)/demo -p ferric-cli --bin ferric --no-default-features --features demo$(if $(DEMO_REST),$(comma)rest) -- demo $(if $(DEMO_SECONDS),--seconds $(DEMO_SECONDS)) $(if $(DEMO_REST),--rest $(DEMO_REST))

# Everything that CI runs: format, lints, tests, Python, C, the page in Chromium, programs of others, SCTP on a real kernel, a real Redis,
# live mode, packages, a minute of fuzzing (FUZZ_SECONDS=600: ten).
test:
	./scripts/test

# Tests that judge times of this host, which has to be quiet: steps of the dynamic CPU policy (root). And one that takes more than a
# minute: several RICs whose Redis is gone for 60 s.
test-realtime:
	cargo test -p ferric-cpu-cli --test dynamic -- --ignored --skip unit
	crates/ric/traffic/redis-server/run cargo test -p ferric-system-tests --test oran_xapps -- --ignored minute

# The figures of docs/figures.md.
bench:
	cargo build --release -p ferric-cli -p ferric-bench-cli
	$(programs)/ferric bench e2

# Half an hour of faults (SOAK_MINUTES=5: five): nothing lost, nothing doubled, no growth.
soak:
	cargo build --release -p ferric-cli -p ferric-bench-cli
	$(programs)/ferric bench soak --minutes $(or $(SOAK_MINUTES),30)

# The Python package: a wheel in target/wheels.
python:
	./scripts/python

# Debian packages in target/deb: ferric, and one for each program of packaging/programs.
deb:
	./scripts/deb

# The program ferric without shared libraries: target/static/ferric.
static:
	./scripts/static

# A container image, with docker, podman or buildah.
container:
	./scripts/container

# Release builds of all packages, installed into roots of their own and run there. `make test` has a short form of it.
test-packages:
	./packaging/tests/all full

# The C interface for base stations and xApps: libferric.a, libferric.so, ferric.h and files for pkg-config, into PREFIX
# (DESTDIR=/tmp/package: below it).
c:
	./scripts/install-c $(or $(PREFIX),/usr/local) $(DESTDIR)

# The manual: target/doc/ferric/index.html.
docs:
	cargo doc --workspace --no-deps

# Licences, duplicates and sources of all dependencies; installs cargo-deny into target/ where it is missing.
deny:
	./scripts/deny
