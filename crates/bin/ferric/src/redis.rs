//! `--redis-ca`, `--redis-cert`, `--redis-key`, `--redis-password`: what a Redis server wants to see.

use std::path::PathBuf;

use ::ric::traffic::RedisFiles;

/// Options of every command that takes a Redis server's URL.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Access to Redis")]
pub struct RedisArgs {
    /// PEM file of the CA that the server's certificate must be signed by, with rediss://. [default: those of this host]
    #[arg(long, value_name = "FILE")]
    redis_ca: Option<PathBuf>,
    /// PEM file of our own certificate, where the server asks for one.
    #[arg(long, value_name = "FILE", requires = "redis_key")]
    redis_cert: Option<PathBuf>,
    /// PEM file of its private key.
    #[arg(long, value_name = "FILE", requires = "redis_cert")]
    redis_key: Option<PathBuf>,
    /// File that holds the password, and nothing else: other users of this host can see one that stands in the URL.
    #[arg(long, value_name = "FILE")]
    redis_password: Option<PathBuf>,
}

impl RedisArgs {
    /// The files given here, or else those of a configuration file.
    pub fn files(&self, configured: RedisFiles) -> RedisFiles {
        RedisFiles {
            ca: self.redis_ca.clone().or(configured.ca),
            own: self.redis_cert.clone().zip(self.redis_key.clone()).or(configured.own),
            password: self.redis_password.clone().or(configured.password),
        }
    }
}
