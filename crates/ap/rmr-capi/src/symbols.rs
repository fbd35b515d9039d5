//! Symbol tables, of `rmr_symtab.h`: pointers of the program by a name and a class, or by a number. RMR's messages do without them;
//! the platform's framework for C++ keeps JSON documents in them.
//!
//! A table belongs to its program, which frees it, and uses it by one thread at a time.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr;

/// The class of numbers. What is put by name with this class is of class 1.
const NUMBERS: c_uint = 0;

#[derive(Default)]
struct Table {
    /// In their order, so that walks repeat.
    names: BTreeMap<(c_uint, CString), *mut c_void>,
    numbers: BTreeMap<u64, *mut c_void>,
    deletions: u64,
}

/// What `rmr_sym_foreach_class` calls: with the table, the symbol, its name, its pointer, and the data of the caller.
pub type rmr_sym_visitor =
    Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *const c_char, *mut c_void, *mut c_void)>;

/// # Safety
/// `table` is NULL or was returned by `rmr_sym_alloc`, was not freed, and nothing else uses it during `'a`.
unsafe fn table_of<'a>(table: *mut c_void) -> Option<&'a mut Table> {
    // SAFETY: the caller passes NULL or a table of which it has the only reference
    unsafe { table.cast::<Table>().as_mut() }
}

/// The key of a name; `None` for NULL.
///
/// # Safety
/// `name` is NULL or a text.
unsafe fn key(name: *const c_char, class: c_uint) -> Option<(c_uint, CString)> {
    // SAFETY: the caller passes a text
    (!name.is_null()).then(|| (class, unsafe { CStr::from_ptr(name) }.to_owned()))
}

/// The class of names that are put, and found, with `class`.
fn class_of_names(class: c_uint) -> c_uint {
    if class == NUMBERS { 1 } else { class }
}

/// Creates an empty table. It grows as needed: `size` has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn rmr_sym_alloc(_size: c_int) -> *mut c_void {
    Box::into_raw(Box::<Table>::default()).cast()
}

/// Frees a table, not what its pointers point to. NULL is ignored.
///
/// # Safety
/// `table` is NULL or was returned by `rmr_sym_alloc`, and nothing uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_free(table: *mut c_void) {
    if !table.is_null() {
        // SAFETY: it is the address of a table that the caller gives up
        drop(unsafe { Box::from_raw(table.cast::<Table>()) });
    }
}

/// Removes all symbols.
///
/// # Safety
/// `table` is NULL or was returned by `rmr_sym_alloc`, and no other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_clear(table: *mut c_void) {
    // SAFETY: the caller passes NULL or a table
    let Some(table) = (unsafe { table_of(table) }) else { return };
    table.deletions += (table.names.len() + table.numbers.len()) as u64;
    table.names.clear();
    table.numbers.clear();
}

/// Puts a pointer by name and class, in place of the former one. Returns 1 if the name is new, 0 if it was there, -1 for NULL.
///
/// # Safety
/// As for `rmr_sym_clear`; `name` is NULL or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_put(
    table: *mut c_void,
    name: *const c_char,
    st_class: c_uint,
    val: *mut c_void,
) -> c_int {
    // SAFETY: the caller passes NULL, or a table and a text
    match unsafe { (table_of(table), key(name, class_of_names(st_class))) } {
        (Some(table), Some(key)) => table.names.insert(key, val).is_none().into(),
        _ => -1,
    }
}

/// Returns the pointer of a name and class, or NULL.
///
/// # Safety
/// As for `rmr_sym_put`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_get(table: *mut c_void, name: *const c_char, st_class: c_uint) -> *mut c_void {
    // SAFETY: the caller passes NULL, or a table and a text
    match unsafe { (table_of(table), key(name, class_of_names(st_class))) } {
        (Some(table), Some(key)) => table.names.get(&key).copied().unwrap_or(ptr::null_mut()),
        _ => ptr::null_mut(),
    }
}

/// Removes a name of a class.
///
/// # Safety
/// As for `rmr_sym_put`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_del(table: *mut c_void, name: *const c_char, st_class: c_uint) {
    // SAFETY: the caller passes NULL, or a table and a text
    if let (Some(table), Some(key)) = unsafe { (table_of(table), key(name, class_of_names(st_class))) }
        && table.names.remove(&key).is_some()
    {
        table.deletions += 1;
    }
}

/// Puts a pointer by number. Returns as `rmr_sym_put`.
///
/// # Safety
/// As for `rmr_sym_clear`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_map(table: *mut c_void, key: u64, val: *mut c_void) -> c_int {
    // SAFETY: the caller passes NULL or a table
    unsafe { table_of(table) }.map_or(-1, |table| table.numbers.insert(key, val).is_none().into())
}

/// Returns the pointer of a number, or NULL.
///
/// # Safety
/// As for `rmr_sym_clear`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_pull(table: *mut c_void, key: u64) -> *mut c_void {
    // SAFETY: the caller passes NULL or a table
    unsafe { table_of(table) }.and_then(|table| table.numbers.get(&key).copied()).unwrap_or(ptr::null_mut())
}

/// Removes a number.
///
/// # Safety
/// As for `rmr_sym_clear`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_ndel(table: *mut c_void, key: u64) {
    // SAFETY: the caller passes NULL or a table
    if let Some(table) = unsafe { table_of(table) }
        && table.numbers.remove(&key).is_some()
    {
        table.deletions += 1;
    }
}

/// Calls a function for each symbol of a class; class 0 are the numbers, which have no name. The function may put and remove
/// symbols: one that is removed before its turn is left out, one that is put is visited or not.
///
/// # Safety
/// As for `rmr_sym_clear`; the function accepts its arguments, and does not free the table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_foreach_class(
    vst: *mut c_void,
    st_class: c_uint,
    user_fun: rmr_sym_visitor,
    user_data: *mut c_void,
) {
    // no reference to the table lives while the function runs, since it may change it
    // SAFETY: the caller passes NULL or a table
    let (Some(visit), Some(table)) = (user_fun, unsafe { table_of(vst) }) else { return };
    if st_class == NUMBERS {
        let numbers: Vec<u64> = table.numbers.keys().copied().collect();
        for mut number in numbers {
            // SAFETY: the caller has passed a table, and does not free it meanwhile
            let value = unsafe { table_of(vst) }.and_then(|table| table.numbers.get(&number).copied());
            if let Some(value) = value {
                // SAFETY: the function accepts these arguments
                unsafe { visit(vst, (&raw mut number).cast(), ptr::null(), value, user_data) };
            }
        }
        return;
    }
    let names: Vec<_> = table.names.keys().filter(|(class, _)| *class == st_class).cloned().collect();
    for mut key in names {
        // SAFETY: the caller has passed a table, and does not free it meanwhile
        let value = unsafe { table_of(vst) }.and_then(|table| table.names.get(&key).copied());
        if let Some(value) = value {
            let name = key.1.as_ptr();
            // SAFETY: the function accepts these arguments
            unsafe { visit(vst, (&raw mut key).cast(), name, value, user_data) };
        }
    }
}

/// Writes the symbols to standard error, a line each.
///
/// # Safety
/// As for `rmr_sym_clear`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_dump(table: *mut c_void) {
    // SAFETY: the caller passes NULL or a table
    let Some(table) = (unsafe { table_of(table) }) else { return };
    for ((class, name), value) in &table.names {
        crate::log::write(format_args!("class={class} name={name:?} value={value:?}"));
    }
    for (number, value) in &table.numbers {
        crate::log::write(format_args!("class={NUMBERS} number={number} value={value:?}"));
    }
}

/// Writes the numbers of symbols and deletions to standard error; a level above 3 has the symbols as well.
///
/// # Safety
/// As for `rmr_sym_clear`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_stats(table: *mut c_void, level: c_int) {
    // SAFETY: the caller passes NULL or a table
    let Some(of) = (unsafe { table_of(table) }) else { return };
    crate::log::write(format_args!("names={} numbers={} deletions={}", of.names.len(), of.numbers.len(), of.deletions));
    if level > 3 {
        // SAFETY: the same table
        unsafe { rmr_sym_dump(table) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pointer that nothing follows.
    fn value(number: usize) -> *mut c_void {
        ptr::without_provenance_mut(number)
    }

    unsafe extern "C" fn collect(
        table: *mut c_void,
        symbol: *mut c_void,
        name: *const c_char,
        value: *mut c_void,
        data: *mut c_void,
    ) {
        assert!(!symbol.is_null());
        // SAFETY: the tests pass a vector, names are texts, and the table is valid
        unsafe {
            let name = if name.is_null() { c"".to_owned() } else { CStr::from_ptr(name).to_owned() };
            rmr_sym_del(table, c"b".as_ptr(), 2);
            (*data.cast::<Vec<(CString, usize)>>()).push((name, value.addr()));
        }
    }

    fn visited(table: *mut c_void, class: c_uint) -> Vec<(String, usize)> {
        let mut found: Vec<(CString, usize)> = Vec::new();
        // SAFETY: the table is valid, and the data is a vector
        unsafe { rmr_sym_foreach_class(table, class, Some(collect), (&raw mut found).cast()) };
        found.into_iter().map(|(name, value)| (name.into_string().unwrap(), value)).collect()
    }

    #[test]
    fn names_have_classes_and_numbers_are_apart() {
        let table = rmr_sym_alloc(10);
        // SAFETY: the table and the texts are valid
        unsafe {
            assert_eq!(rmr_sym_put(table, c"a".as_ptr(), 2, value(1)), 1);
            assert_eq!(rmr_sym_put(table, c"a".as_ptr(), 2, value(2)), 0, "it replaces");
            assert_eq!(rmr_sym_put(table, c"a".as_ptr(), 3, value(3)), 1);
            assert_eq!(rmr_sym_put(table, c"a".as_ptr(), 0, value(4)), 1, "class 1");
            assert_eq!((rmr_sym_map(table, 7, value(5)), rmr_sym_map(table, 7, value(6))), (1, 0));
            let get = |class| rmr_sym_get(table, c"a".as_ptr(), class).addr();
            assert_eq!([get(0), get(1), get(2), get(3), get(4)], [4, 4, 2, 3, 0]);
            assert_eq!((rmr_sym_pull(table, 7).addr(), rmr_sym_pull(table, 8).addr()), (6, 0));
            rmr_sym_del(table, c"a".as_ptr(), 2);
            rmr_sym_ndel(table, 7);
            assert_eq!((get(2), get(3), rmr_sym_pull(table, 7).addr()), (0, 3, 0));
            rmr_sym_clear(table);
            assert_eq!((get(1), get(3)), (0, 0));
            rmr_sym_free(table);
        }
    }

    #[test]
    fn walk_has_the_symbols_of_a_class_that_are_still_there() {
        let table = rmr_sym_alloc(0);
        // SAFETY: the table and the texts are valid
        unsafe {
            for (at, name) in [c"a", c"b", c"c"].into_iter().enumerate() {
                rmr_sym_put(table, name.as_ptr(), 2, value(at + 1));
            }
            rmr_sym_put(table, c"other".as_ptr(), 3, value(9));
            rmr_sym_map(table, 5, value(50));
        }
        let of = |name: &str, value| (name.to_owned(), value);
        assert_eq!(visited(table, 2), [of("a", 1), of("c", 3)], "the function removes `b`");
        assert_eq!(visited(table, 0), [of("", 50)]);
        assert_eq!(visited(table, 8), []);
        // SAFETY: it is not used again
        unsafe { rmr_sym_free(table) };
    }

    #[test]
    fn null_is_no_table_and_no_name() {
        let (null, table) = (ptr::null_mut(), rmr_sym_alloc(1));
        // SAFETY: NULL is permitted, and the table is valid
        unsafe {
            assert_eq!((rmr_sym_put(null, c"a".as_ptr(), 1, value(1)), rmr_sym_map(null, 1, value(1))), (-1, -1));
            assert_eq!(rmr_sym_put(table, ptr::null(), 1, value(1)), -1);
            assert!(rmr_sym_get(null, c"a".as_ptr(), 1).is_null() && rmr_sym_get(table, ptr::null(), 1).is_null());
            assert!(rmr_sym_pull(null, 1).is_null());
            rmr_sym_foreach_class(table, 1, None, null);
            rmr_sym_del(null, c"a".as_ptr(), 1);
            rmr_sym_ndel(null, 1);
            rmr_sym_clear(null);
            rmr_sym_dump(null);
            rmr_sym_stats(null, 9);
            rmr_sym_free(null);
            rmr_sym_free(table);
        }
    }
}
