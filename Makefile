# Each line can be run by hand.

# Where release builds are.
programs = $(or $(CARGO_TARGET_DIR),target)/release
comma = ,

.PHONY: demo test bench soak docs deny

# A RIC, a base station with 32 UEs and an xApp, all in one. DEMO_SECONDS=10 ends it by itself.
demo:
	cargo run --release -p ferric-cli --no-default-features --features demo$(if $(DEMO_REST),$(comma)rest) -- demo $(if $(DEMO_SECONDS),--seconds $(DEMO_SECONDS)) $(if $(DEMO_REST),--rest $(DEMO_REST))

# Everything that must hold: format, lints, tests, SCTP on a real kernel, a real Redis, a minute of fuzzing (FUZZ_SECONDS=600: ten).
test:
	./scripts/test

# The figures of the README.
bench:
	cargo build --release -p ferric-cli -p ferric-bench-cli
	$(programs)/ferric bench e2

# Half an hour of everything that can go wrong (SOAK_MINUTES=5: five): nothing lost, nothing doubled, nothing grows.
soak:
	cargo build --release -p ferric-cli -p ferric-bench-cli
	$(programs)/ferric bench soak --minutes $(or $(SOAK_MINUTES),30)

# The manual: target/doc/ferric/index.html.
docs:
	cargo doc --workspace --no-deps

# Licences, duplicates and sources of all dependencies; installs cargo-deny into target/ where it is missing.
deny:
	./scripts/deny
