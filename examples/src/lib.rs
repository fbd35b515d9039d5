//! Examples, each a screen long.
