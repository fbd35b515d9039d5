//! `--redis-ca`, `--redis-cert`, `--redis-key`, `--redis-password`: credentials for a Redis server.

use std::path::PathBuf;

use traffic::RedisFiles;

/// The heading of these options in `--help`.
pub const HEADING: &str = "Redis";

/// Options of all commands that have the URL of a Redis server.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct RedisArgs {
    /// PEM file of the CA that signed the server's certificate, for rediss://. [default: the CAs of this host]
    #[arg(long, value_name = "FILE")]
    redis_ca: Option<PathBuf>,
    /// PEM file of the client certificate, if the server requires one.
    #[arg(long, value_name = "FILE", requires = "redis_key")]
    redis_cert: Option<PathBuf>,
    /// PEM file of the client certificate's private key.
    #[arg(long, value_name = "FILE", requires = "redis_cert")]
    redis_key: Option<PathBuf>,
    /// File that contains the password. (Other users of this host can see a password in the URL.)
    #[arg(long, value_name = "FILE")]
    redis_password: Option<PathBuf>,
}

impl RedisArgs {
    /// The files of the command line, else those of the configuration file.
    pub fn files(&self, configured: RedisFiles) -> RedisFiles {
        RedisFiles {
            ca: self.redis_ca.clone().or(configured.ca),
            own: self.redis_cert.clone().zip(self.redis_key.clone()).or(configured.own),
            password: self.redis_password.clone().or(configured.password),
        }
    }
}
