//! An SDK for software-defined radio access networks: agents, controllers, internal and external apps.

#![forbid(unsafe_code)]
