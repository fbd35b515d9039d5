//! Ready RAN functions: a base station implements one small trait of getters for each.

#![forbid(unsafe_code)]
