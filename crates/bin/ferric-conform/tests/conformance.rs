//! Placeholder while dependencies are built.
