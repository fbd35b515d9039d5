//! Test support that several crates share. It is a development dependency everywhere but in the benchmark programs, which
//! count allocations with it.
//!
//! | feature | items |
//! |---|---|
//! | | [`CountingAllocator`], [`ProcessCountingAllocator`], [`ObjectFolder`], [`Background`], [`Relay`], [`eventually`], modules [`c_program`] and [`prometheus`] |
//! | `certificates` | module `certificates`: a CA and the certificates that it issues |
//! | `http` | module `http`: a client for requests of every kind, malformed ones included; module `schema`: do answers conform? |
//! | `log` | module `log`: the log of all threads as text |
//! | `non-rt-ric` | module `non_rt_ric`: a service with the A1-EI interface of a non-RT RIC |
//! | `broker` | `MessageBroker`: a RabbitMQ or a Kafka for one test |
//! | `redis` | `Redis`, `RedisCluster`, `RedisSentinel`: Redis for one test; redis-cli |

mod allocations;
mod background;
#[cfg(feature = "broker")]
mod broker;
pub mod c_program;
#[cfg(feature = "certificates")]
pub mod certificates;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "live")]
pub mod live;
#[cfg(feature = "log")]
pub mod log;
#[cfg(feature = "non-rt-ric")]
pub mod non_rt_ric;
#[cfg(feature = "program")]
pub mod program;
pub mod prometheus;
#[cfg(feature = "redis")]
mod redis;
mod relay;
#[cfg(feature = "http")]
pub mod schema;
mod shared_object;

pub use allocations::{CountingAllocator, ProcessCountingAllocator};
pub use background::{Background, PATIENCE, eventually};
#[cfg(feature = "broker")]
pub use broker::{MessageBroker, brokers_are_available};
#[cfg(feature = "redis")]
pub use redis::{Redis, RedisCluster, RedisSentinel, RedisStore, redis_cli};
pub use relay::Relay;
pub use shared_object::ObjectFolder;
