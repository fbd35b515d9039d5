//! How fast idle CPUs wake up.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// The request holds while this file is open (pm_qos_interface in the kernel's documentation).
const FILE: &str = "/dev/cpu_dma_latency";

/// A request that idle CPUs of the host leave their sleep within a time, until this is dropped.
pub struct IdleLatency(#[expect(dead_code, reason = "the request holds while the file is open")] File);

impl IdleLatency {
    /// Requests at most so many us. With 0 an idle CPU polls.
    ///
    /// # Errors
    /// The file is missing, or this process may not write to it: that takes root.
    pub fn request(us: u32) -> io::Result<IdleLatency> {
        let mut file = OpenOptions::new().write(true).open(FILE)?;
        // a 32-bit number with sign
        file.write_all(&i32::try_from(us).unwrap_or(i32::MAX).to_ne_bytes())?;
        Ok(IdleLatency(file))
    }
}
