//! E2 service models: what stands in the octet strings that E2AP carries.

#![forbid(unsafe_code)]
