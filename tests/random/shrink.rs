//! Makes a list that fails shorter.

/// A part of `all` for which `fails` still holds, none of whose elements can be left out.
pub(crate) fn shortest<T: Clone>(all: Vec<T>, mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut current = all;
    let mut size = current.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        let mut shorter = false;
        while at < current.len() {
            let mut less = current.clone();
            less.drain(at..(at + size).min(current.len()));
            if fails(&less) {
                (current, shorter) = (less, true);
            } else {
                at += size;
            }
        }
        if size == 1 && !shorter {
            break;
        }
        size = if size == 1 { 1 } else { size / 2 };
    }
    current
}

#[test]
fn what_matters_is_left() {
    let all: Vec<u32> = (0..100).collect();
    let fails = |part: &[u32]| part.contains(&7) && part.contains(&93);
    assert_eq!(shortest(all, fails), [7, 93]);
    assert_eq!(shortest(vec![1, 2, 3], |_| true), [] as [u32; 0]);
}
