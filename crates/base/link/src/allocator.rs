//! Returns freed memory to the system.
//!
//! This module has unsafe code: a call of the C library.
#![allow(unsafe_code)]

/// Has the C library return the memory that this process has freed to the system. Without it, the freed buffers of a
/// thousand closed links stay with the process, since younger allocations lie above them. It takes milliseconds for a
/// hundred megabytes; call it rarely. Does nothing with a C library other than glibc.
pub fn release_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: malloc_trim(3) has no precondition, takes the locks of the allocator itself, and changes no memory that is
        // in use.
        unsafe {
            libc::malloc_trim(0);
        }
    }
}
