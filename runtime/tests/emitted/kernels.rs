//! The entry points, in the place of those that the compiler makes.

use core::ffi::c_void;
use core::slice::{from_raw_parts, from_raw_parts_mut};

/// `scale2(x: Tensor<f32, 4>) -> Tensor<f32, 4>`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tenfold_emitted_scale2(x: *const f32, r0: *mut f32, ws: *mut u8, _: *const c_void) -> i32 {
    assert_eq!(ws as usize % 64, 0);
    for i in 0..4 {
        unsafe { r0.add(i).write(2.0 * *x.add(i)) };
    }
    0
}

/// `step`, whose parameters come first, then the results, the named dims, the workspace and the context.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tenfold_emitted_step(
    x: *const f32,
    h: *const u16,
    scale: f32,
    pos: isize,
    state: *mut f32,
    r0: *mut f32,
    r1: *mut i32,
    n: isize,
    d: isize,
    ws: *mut u8,
    _: *const c_void,
) -> i32 {
    if scale < 0.0 {
        return 1;
    }
    assert_eq!(ws as usize % 64, 0);
    let (n, d) = (n as usize, d as usize);
    let (x, h) = unsafe { (from_raw_parts(x, n * d), from_raw_parts(h, n)) };
    for i in 0..n {
        for j in 0..d {
            unsafe {
                r0.add(i * 2 * d + j).write(scale * x[i * d + j]);
                r0.add(i * 2 * d + d + j).write(tenfold::f16::from_bits(h[i]).to_f32());
            }
        }
        unsafe { r1.add(i).write(i as i32) };
    }
    let state = unsafe { from_raw_parts_mut(state, d - 1) };
    state.iter_mut().for_each(|state| *state += pos as f32);
    0
}

/// `mean_of`, whose input has a stride per axis.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tenfold_emitted_mean_of(
    x: *const f32,
    row: isize,
    column: isize,
    negate: u8,
    bias: u16,
    r0: *mut f32,
    h: isize,
    w: isize,
    ws: *mut u8,
    _: *const c_void,
) -> i32 {
    assert_eq!(ws as usize % 64, 0);
    let places = (0..h).flat_map(|i| (0..w).map(move |j| i * row + j * column));
    let sum: f32 = places.map(|at| unsafe { *x.offset(at) }).sum();
    let mean = sum / (h * w) as f32 * if negate == 1 { -1.0 } else { 1.0 };
    unsafe { r0.write(mean + tenfold::f16::from_bits(bias).to_f32()) };
    0
}
