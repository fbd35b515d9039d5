//! The system calls that no safe crate has: BPF, performance events, the memory that these share with the kernel, scheduling policies.
#![allow(unsafe_code, reason = "bpf(2), perf_event_open(2) and their ioctls have no safe wrapper")]

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::assembler::Instruction;

// commands of bpf(2)
const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE: libc::c_long = 2;
const PROGRAM_LOAD: libc::c_long = 5;

/// `union bpf_attr`, as far as it is used here: zeros at its end mean nothing.
type Attributes = [u64; 16];

fn bpf(command: libc::c_long, attributes: &mut Attributes) -> io::Result<i32> {
    // SAFETY: the attributes live until the call returns, and their length is given. The pointers in them are made from references
    // by the callers below, whose buffers have the sizes that the map was created with.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_mut_ptr(), size_of::<Attributes>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

/// Two fields of 32 bits as one word of the attributes.
fn pair(first: u32, second: u32) -> u64 {
    let ([a, b, c, d], [e, f, g, h]) = (first.to_ne_bytes(), second.to_ne_bytes());
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// The descriptor that a successful call has returned.
fn owned(descriptor: i32) -> OwnedFd {
    // SAFETY: the kernel has just created the descriptor for this process, and nobody else knows it.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// The kind of a map.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum MapKind {
    Hash = 1,
    Array = 2,
}

/// A BPF map of keys of `K` words of 32 bits, and values of words of 64 bits.
#[derive(Debug)]
pub(crate) struct Map<const K: usize> {
    descriptor: OwnedFd,
    value_words: usize,
}

impl<const K: usize> Map<K> {
    pub(crate) fn create(kind: MapKind, value_words: usize, entries: u32) -> io::Result<Map<K>> {
        Map::create_with(kind, value_words, entries, 0)
    }

    fn create_with(kind: MapKind, value_words: usize, entries: u32, flags: u32) -> io::Result<Map<K>> {
        let mut attributes = Attributes::default();
        attributes[0] = pair(kind as u32, (4 * K) as u32);
        attributes[1] = pair((8 * value_words) as u32, entries);
        attributes[2] = pair(flags, 0);
        bpf(MAP_CREATE, &mut attributes).map(|descriptor| Map { descriptor: owned(descriptor), value_words })
    }

    pub(crate) fn descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    fn attributes(&self, key: &[u32; K]) -> Attributes {
        let mut attributes = Attributes::default();
        attributes[0] = pair(self.descriptor.as_raw_fd() as u32, 0);
        attributes[1] = key.as_ptr() as u64;
        attributes
    }

    /// Sets the value of a key.
    pub(crate) fn set(&self, key: [u32; K], value: &[u64]) -> io::Result<()> {
        assert_eq!(value.len(), self.value_words, "a value of the map");
        let mut attributes = self.attributes(&key);
        attributes[2] = value.as_ptr() as u64;
        bpf(MAP_UPDATE, &mut attributes).map(drop)
    }
}

/// An array of records that BPF programs and this process share: reading it takes no system call.
///
/// That matters: while a thread is within bpf(2), no program runs on its CPU, also if it is preempted there for long.
#[derive(Debug)]
pub(crate) struct SharedArray {
    map: Map<1>,
    address: *mut u64,
    words: usize,
    octets: usize,
}

impl SharedArray {
    /// Creates an array of `entries` records of zeros.
    pub(crate) fn create(value_words: usize, entries: u32) -> io::Result<SharedArray> {
        const MAPPABLE: u32 = 1 << 10;
        let map: Map<1> = Map::create_with(MapKind::Array, value_words, entries, MAPPABLE)?;
        let words = value_words * entries as usize;
        let page = page_octets()?;
        let octets = (8 * words).next_multiple_of(page);
        let address = map_memory(map.descriptor(), octets)?;
        Ok(SharedArray { map, address: address.cast(), words, octets })
    }

    pub(crate) fn descriptor(&self) -> i32 {
        self.map.descriptor()
    }

    /// A word of a record.
    ///
    /// # Panics
    /// If there is no such record.
    pub(crate) fn word(&self, record: usize, word: usize) -> &std::sync::atomic::AtomicU64 {
        let index = record * self.map.value_words + word;
        assert!(word < self.map.value_words && index < self.words, "a record of the array");
        // SAFETY: the word is within the mapping, which lives as long as `self`, and aligned. Programs change it at any time, so it
        // is atomic.
        unsafe { &*self.address.add(index).cast::<std::sync::atomic::AtomicU64>() }
    }

    /// A copy of a record.
    pub(crate) fn record(&self, record: usize) -> Vec<u64> {
        (0..self.map.value_words)
            .map(|word| self.word(record, word).load(std::sync::atomic::Ordering::Relaxed))
            .collect()
    }
}

impl Drop for SharedArray {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this address and length, and no reference into it is left.
        unsafe { libc::munmap(self.address.cast(), self.octets) };
    }
}

fn page_octets() -> io::Result<usize> {
    // SAFETY: sysconf has no preconditions.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).map_err(io::Error::other)
}

/// Maps memory that is shared with the kernel.
fn map_memory(descriptor: i32, octets: usize) -> io::Result<*mut libc::c_void> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the kernel chooses the address of a new mapping, so no other memory is touched.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), octets, protection, libc::MAP_SHARED, descriptor, 0) };
    if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address) }
}

/// The type of a program.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum ProgramKind {
    Tracepoint = 5,
    PerfEvent = 7,
}

/// Loads a program. The error contains the end of the verifier's log.
pub(crate) fn load(kind: ProgramKind, code: &[Instruction]) -> io::Result<OwnedFd> {
    let mut log = vec![0_u8; 1 << 16];
    let licence = c"GPL";
    let mut attributes = Attributes::default();
    attributes[0] = pair(kind as u32, code.len() as u32);
    attributes[1] = code.as_ptr() as u64;
    attributes[2] = licence.as_ptr() as u64;
    // without the log first: it costs time, and a long one is an error
    match bpf(PROGRAM_LOAD, &mut attributes.clone()) {
        Ok(descriptor) => return Ok(owned(descriptor)),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => return Err(error),
        Err(_) => {}
    }
    attributes[3] = pair(1, log.len() as u32);
    attributes[4] = log.as_mut_ptr() as u64;
    bpf(PROGRAM_LOAD, &mut attributes).map(owned).map_err(|error| {
        let text = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = text.trim_end_matches('\0').lines().rev().take(6).collect();
        io::Error::new(error.kind(), format!("{error}: {}", lines.into_iter().rev().collect::<Vec<_>>().join(" | ")))
    })
}

/// Gives a thread a scheduling policy without a real-time priority. Its nice value stays.
pub(crate) fn set_scheduling(tid: u32, policy: u32) -> io::Result<()> {
    let number = |value: u32| i32::try_from(value).map_err(io::Error::other);
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters live until the call returns.
    let result = unsafe { libc::sched_setscheduler(number(tid)?, number(policy)?, &parameters) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// `struct perf_event_attr` of the first version with a clock (`PERF_ATTR_SIZE_VER5`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EventAttributes {
    pub(crate) kind: u32,
    pub(crate) size: u32,
    pub(crate) config: u64,
    pub(crate) sample_period: u64,
    pub(crate) sample_type: u64,
    pub(crate) read_format: u64,
    pub(crate) flags: u64,
    pub(crate) wakeup: u32,
    pub(crate) breakpoint: u32,
    pub(crate) config_1: u64,
    pub(crate) config_2: u64,
    pub(crate) branch_sample_type: u64,
    pub(crate) sample_registers: u64,
    pub(crate) sample_stack: u32,
    pub(crate) clock: i32,
    pub(crate) registers: u64,
    pub(crate) auxiliary: u32,
    pub(crate) max_stack: u16,
    pub(crate) reserved: u16,
}

/// Opens an event of all processes on a CPU.
pub(crate) fn open_event(attributes: &EventAttributes, cpu: usize) -> io::Result<OwnedFd> {
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    let attributes = EventAttributes { size: size_of::<EventAttributes>() as u32, ..*attributes };
    let cpu = libc::c_long::try_from(cpu).map_err(io::Error::other)?;
    let all: libc::c_long = -1;
    // SAFETY: the attributes live until the call returns, and contain their own size.
    let result = unsafe { libc::syscall(libc::SYS_perf_event_open, &attributes, all, cpu, all, CLOSE_ON_EXEC) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(owned(result as i32)) }
}

const IOC_ENABLE: libc::c_ulong = 0x2400;
const IOC_SET_OUTPUT: libc::c_ulong = 0x2405;
const IOC_SET_BPF: libc::c_ulong = 0x4004_2408;

fn control(event: &OwnedFd, request: libc::c_ulong, argument: i32) -> io::Result<()> {
    // SAFETY: these requests take a number, no pointer.
    let result = unsafe { libc::ioctl(event.as_raw_fd(), request as _, libc::c_long::from(argument)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Has a program run for each occurrence of an event.
pub(crate) fn attach(event: &OwnedFd, program: &OwnedFd) -> io::Result<()> {
    control(event, IOC_SET_BPF, program.as_raw_fd())?;
    control(event, IOC_ENABLE, 0)
}

/// Has samples of an event written to the buffer of another one.
pub(crate) fn redirect(event: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    control(event, IOC_SET_OUTPUT, to.as_raw_fd())
}

/// Enables an event.
pub(crate) fn enable(event: &OwnedFd) -> io::Result<()> {
    control(event, IOC_ENABLE, 0)
}

/// The buffer of an event's samples.
#[derive(Debug)]
pub(crate) struct Buffer {
    address: *mut u8,
    /// The octets of the data, a power of two; the page with the positions precedes them.
    size: usize,
    page: usize,
}

/// Positions in the page before the data (`struct perf_event_mmap_page`).
const HEAD: usize = 1024;
const TAIL: usize = 1032;

impl Buffer {
    /// Maps the buffer of an event, with `pages` pages of data, a power of two.
    pub(crate) fn map(event: &OwnedFd, pages: usize) -> io::Result<Buffer> {
        let page = page_octets()?;
        let size = pages * page;
        let address = map_memory(event.as_raw_fd(), page + size)?;
        Ok(Buffer { address: address.cast(), size, page })
    }

    fn position(&self, offset: usize) -> &std::sync::atomic::AtomicU64 {
        // SAFETY: the word is within the first page of the mapping, which lives as long as `self`, and aligned. The kernel writes it
        // at any time, so it is atomic.
        unsafe { &*self.address.add(offset).cast::<std::sync::atomic::AtomicU64>() }
    }

    /// Calls `each` with the kind and the content of each record that is waiting.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(u32, &[u8])) {
        use std::sync::atomic::Ordering;
        let head = self.position(HEAD).load(Ordering::Acquire);
        let mut tail = self.position(TAIL).load(Ordering::Relaxed);
        let mut record = Vec::new();
        while tail < head {
            let octet = |index: u64| {
                let offset = ((tail + index) % self.size as u64) as usize;
                // SAFETY: the offset is within the data, which the kernel leaves alone between tail and head.
                unsafe { self.address.add(self.page + offset).read() }
            };
            let kind = u32::from_ne_bytes([octet(0), octet(1), octet(2), octet(3)]);
            let length = u64::from(u16::from_ne_bytes([octet(6), octet(7)]));
            // a broken length would never end: the kernel writes none
            if length < 8 || tail + length > head {
                tail = head;
                break;
            }
            record.clear();
            record.extend((8..length).map(octet));
            each(kind, &record);
            tail += length;
        }
        self.position(TAIL).store(tail, Ordering::Release);
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this address and length, and no reference into it is left.
        unsafe { libc::munmap(self.address.cast(), self.page + self.size) };
    }
}
