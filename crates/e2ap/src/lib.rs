//! E2AP: every message of v01.00, v01.01, v02.03 and v03.01, and a peek that reads only what routing needs.

#![forbid(unsafe_code)]
