//! Arguments from C.

use std::ffi::{CStr, c_char};
use std::slice;

use crate::status::Failure;

/// The longest text of an argument in octets: names, addresses, object identifiers.
const MAX_TEXT_OCTETS: usize = 1000;

/// Reads a text that ends with a zero.
///
/// # Safety
/// `text` is NULL, or points to a text that ends with a zero and stays unchanged during the call.
pub unsafe fn text<'a>(text: *const c_char, argument: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::null(argument));
    }
    // SAFETY: the caller passes a text that ends with a zero
    let text = unsafe { CStr::from_ptr(text) };
    if text.count_bytes() > MAX_TEXT_OCTETS {
        return Err(Failure::argument(argument, format_args!("{argument} has more than {MAX_TEXT_OCTETS} octets")));
    }
    text.to_str().map_err(|_| Failure::argument(argument, format_args!("{argument} is not UTF-8")))
}

/// Reads a text that may be absent.
///
/// # Safety
/// As [`text`].
pub unsafe fn optional_text<'a>(text: *const c_char, argument: &str) -> Result<Option<&'a str>, Failure> {
    // SAFETY: as the caller states
    if text.is_null() { Ok(None) } else { unsafe { self::text(text, argument) }.map(Some) }
}

/// Reads an array of `count` items, at most `max`; NULL is allowed if there are none.
///
/// # Safety
/// `items` is NULL, or valid for reading `count` items that stay unchanged during the call.
pub unsafe fn array<'a, T>(items: *const T, count: usize, max: usize, argument: &str) -> Result<&'a [T], Failure> {
    if count > max {
        return Err(Failure::argument(argument, format_args!("{argument}: {count} are more than {max}")));
    }
    if count == 0 {
        return Ok(&[]);
    }
    if items.is_null() {
        return Err(Failure::null(argument));
    }
    // SAFETY: it is not NULL, its length is bounded, and the caller promises the rest
    Ok(unsafe { slice::from_raw_parts(items, count) })
}

/// Writes items to an array of the caller with room for `capacity`, and their number, which may be larger, to `count`.
///
/// # Safety
/// `out` is NULL, or valid for writing `capacity` items; `count` is NULL or valid.
pub unsafe fn write_array<T>(
    items: Vec<T>,
    out: *mut T,
    capacity: usize,
    count: *mut usize,
    argument: &str,
) -> Result<(), Failure> {
    // SAFETY: the caller passes NULL or a valid pointer
    *unsafe { result(count, "count") }? = items.len();
    if capacity > 0 && out.is_null() {
        return Err(Failure::null(argument));
    }
    for (at, item) in items.into_iter().take(capacity).enumerate() {
        // SAFETY: `at` is below the capacity
        unsafe { out.add(at).write(item) };
    }
    Ok(())
}

/// Reads octets; NULL is allowed if there are none.
///
/// # Safety
/// `octets` is NULL, or valid for reading `length` octets that stay unchanged during the call.
pub unsafe fn octets<'a>(octets: *const u8, length: usize, argument: &str) -> Result<&'a [u8], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    if octets.is_null() {
        return Err(Failure::null(argument));
    }
    if isize::try_from(length).is_err() {
        return Err(Failure::argument(argument, format_args!("the length of {argument} is out of range")));
    }
    // SAFETY: it is not NULL, its length fits, and the caller promises the rest
    Ok(unsafe { slice::from_raw_parts(octets, length) })
}

/// Reads a structure that begins with its own size, so that it may grow in later versions.
///
/// # Safety
/// `structure` is NULL, or points to a `T` that begins with `uint32_t size` and stays unchanged during the call.
pub unsafe fn structure<'a, T>(structure: *const T, argument: &str) -> Result<&'a T, Failure> {
    if structure.is_null() {
        return Err(Failure::null(argument));
    }
    // SAFETY: every such structure begins with its size
    let size = unsafe { *structure.cast::<u32>() };
    if size as usize != size_of::<T>() {
        return Err(Failure::argument(
            "size",
            format_args!(
                "{argument}.size is {size}, but this version of the library expects {}: set it to sizeof",
                size_of::<T>()
            ),
        ));
    }
    // SAFETY: it is not NULL, and the caller has compiled with the same layout
    Ok(unsafe { &*structure })
}

/// Gives access to a result that the caller wants.
///
/// # Safety
/// `out` is NULL, or valid for writing a `T` during the call.
pub unsafe fn result<'a, T>(out: *mut T, argument: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { out.as_mut() }.ok_or_else(|| Failure::null(argument))
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn invalid_texts_are_refused() {
        let long = [vec![b'a'; MAX_TEXT_OCTETS + 1], vec![0]].concat();
        // SAFETY: each text ends with a zero
        unsafe {
            assert_eq!(text(c"tcp://[::1]:1".as_ptr(), "ric").unwrap(), "tcp://[::1]:1");
            assert!(text(ptr::null(), "ric").is_err());
            assert!(text(c"\xFF".as_ptr(), "ric").is_err());
            assert!(text(long.as_ptr().cast(), "ric").is_err());
        }
    }

    #[test]
    fn octets_need_a_pointer_only_if_there_are_any() {
        // SAFETY: the lengths are those of the arrays
        unsafe {
            assert_eq!(octets(ptr::null(), 0, "message").unwrap(), b"");
            assert!(octets(ptr::null(), 1, "message").is_err());
            assert_eq!(octets([1, 2].as_ptr(), 2, "message").unwrap(), [1, 2]);
            assert!(octets([1, 2].as_ptr(), usize::MAX, "message").is_err());
        }
    }

    #[test]
    fn structure_of_another_size_is_refused() {
        #[repr(C)]
        struct Sized {
            size: u32,
            value: u32,
        }
        // SAFETY: the pointers are valid or NULL
        unsafe {
            assert_eq!(structure(&Sized { size: 8, value: 7 }, "config").unwrap().value, 7);
            assert!(structure(&Sized { size: 4, value: 7 }, "config").is_err());
            assert!(structure(ptr::null::<Sized>(), "config").is_err());
        }
    }
}
