//! Aligned Packed Encoding Rules (ITU-T X.691): a zero-copy reader, a writer, and macros that declare ASN.1 types.

#![forbid(unsafe_code)]
