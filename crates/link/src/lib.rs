//! Message links under one contract: framed TCP, Unix socket, SCTP and memory.
