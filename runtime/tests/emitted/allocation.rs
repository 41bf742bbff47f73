//! Calls in place allocate nothing: an allocator that counts for each thread.

use crate::{fixed::scale2, named::step};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations(run: impl FnOnce()) -> usize {
    let before = COUNT.get();
    run();
    COUNT.get() - before
}

#[test]
fn calls_in_place_allocate_nothing() {
    assert_eq!(allocations(|| drop(vec![1])), 1, "the allocator counts");

    let (mut y, mut workspace) = ([0.0; 4], scale2::Workspace::new());
    let x = [1.0, 2.0, 3.0, 4.0];
    assert_eq!(allocations(|| scale2::into(&x, &mut y, &mut workspace)), 0);

    let (h, mut state, mut y, mut n) = (crate::halves(), [0.0; 2], [[0.0; 6]; 2], [0; 2]);
    let mut workspace = tenfold::Workspace::<256>::new();
    let count = allocations(|| {
        step::into(&crate::X, &h, 1.0, 0, &mut state, &mut y, &mut n, &mut workspace).unwrap();
    });
    assert_eq!(count, 0);
    let count = allocations(|| {
        step::into(&crate::X, &h, 1.0, 9, &mut state, &mut y, &mut n, &mut workspace).unwrap_err();
    });
    assert_eq!(count, 0, "errors neither");
}
