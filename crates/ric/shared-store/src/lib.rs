//! What several RICs share on a Redis server.
//!
//! | item | feature | description |
//! |---|---|---|
//! | [`RedisUrl`], [`RedisFiles`] | | one server, and its credentials |
//! | [`StoreUrl`], [`StoreConnection`] | | a server, the primary that Redis Sentinel names, or a Redis Cluster |
//! | [`SharedMap`] | | a map of which each RIC has a copy |
//! | `Peers` | `peers` | RICs that share nodes: which of them are there, and which serves a node |
//! | `AnnounceRics` | `peers` | an internal app that tells xApps the addresses of all RICs |
//! | `MoveNodes` | `peers` | an internal app that hands nodes over when RICs come and go |
//!
//! Keys have their namespace in front in braces, `{ns},key`, as in the shared data layer of the O-RAN SC. Redis Cluster keeps all
//! keys of a namespace on one server.

#![forbid(unsafe_code)]

#[cfg(feature = "peers")]
mod announcing;
#[cfg(feature = "peers")]
mod beats;
mod connection;
mod map;
#[cfg(feature = "peers")]
mod members;
#[cfg(feature = "peers")]
mod moving;
#[cfg(feature = "peers")]
mod peers;
mod remedy;
mod store_url;
mod url;

#[cfg(feature = "peers")]
pub use announcing::AnnounceRics;
pub use connection::StoreConnection;
pub use map::{MAX_CONTENT_OCTETS, MAX_KEY_OCTETS, MAX_WAITING_OCTETS, MapHandle, MapObserver, SharedMap};
#[cfg(feature = "peers")]
pub use moving::MoveNodes;
#[cfg(feature = "peers")]
pub use peers::{LossObserver, MAX_NAME_OCTETS, Peers, PeersConfig};
pub use remedy::remedy;
pub use store_url::StoreUrl;
pub use url::{RedisFiles, RedisUrl, RedisUrlError};
