//! An emulated RAN: cells, UEs and traffic behind ordinary E2 agents.

#![forbid(unsafe_code)]
