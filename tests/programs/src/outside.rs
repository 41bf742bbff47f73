//! Calls of functions outside: of this crate, and of C (`csrc/outside.c`).

use tenfold::prelude::*;
use tenfold::{Dyn, Fixed, TensorMut, TensorRef};

/// What tensor functions of this file call.
pub mod dsp {
    use super::{Dyn, TensorMut, TensorRef};

    /// `y` is `x` delayed by `by`.
    pub fn delay(x: &[f32], by: i64, y: &mut [f32]) {
        let by = usize::try_from(by).unwrap_or(0).min(x.len());
        y[by..].copy_from_slice(&x[..x.len() - by]);
    }

    /// Sums of rows and of columns.
    pub fn sums(x: TensorRef<'_, f32, (Dyn, Dyn)>, rows: &mut [f32], mut columns: TensorMut<'_, f32, (Dyn,)>) {
        let [m, n] = x.shape();
        for i in 0..m {
            for j in 0..n {
                rows[i] += x[[i, j]];
                columns[[j]] += x[[i, j]];
            }
        }
    }

    /// Adds a number to a log, whose length is `count`.
    pub fn note(log: &mut [f32], count: &mut u32, value: f32) {
        if let Some(place) = log.get_mut(*count as usize) {
            *place = value;
            *count += 1;
        }
    }
}

/// A value of a function of this crate, beside what is computed here.
#[tensor_fn]
pub fn echo(x: Tensor<f32, N>, by: usize) -> Tensor<f32, N> {
    let late: Tensor<f32, N> = extern_call!(crate::outside::dsp::delay, x, by);
    x + 0.5 * late
}

/// Several results.
#[tensor_fn]
pub fn sums(x: Tensor<f32, M, N>) -> (Tensor<f32, M>, Tensor<f32, N>) {
    extern_call!(dsp::sums, x)
}

/// Effects in order, in branches and loops, and on variables as on state.
#[tensor_fn]
pub fn logged(x: Tensor<f32, N>, log: &mut Tensor<f32, 8>, count: &mut Tensor<u32>) -> Tensor<f32, N> {
    extern_call!(self::dsp::note, &mut log, &mut count, 1.0);
    let doubled = x + x;
    for i in 0..2 {
        extern_call!(self::dsp::note, &mut log, &mut count, i as f32 + 10.0);
    }
    if sum(x) > 0.0 {
        extern_call!(self::dsp::note, &mut log, &mut count, sum(doubled));
    }
    let mut mine = zeros::<f32>([8]);
    let mut none = 0u32;
    extern_call!(self::dsp::note, &mut mine, &mut none, 5.0);
    extern_call!(self::dsp::note, &mut log, &mut count, mine[[0]] + none as f32);
    doubled
}

/// A call inside of a function that is written out in another, where its dims are known.
#[tensor_fn]
pub fn echo_four(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    self::echo(self::echo(x, 1), 2)
}

/// Nested arrays in, and a scalar out.
pub fn trace(x: &[[f32; 3]; 3], out: &mut f32) {
    *out = (0..3).map(|i| x[i][i]).sum();
}

/// Of two rows at once: the extents of each copy are its own.
pub fn rotate(x: TensorRef<'_, f32, (Dyn, Fixed<3>)>, y: &mut [f32]) {
    for (i, row) in x.as_slice().chunks_exact(3).enumerate() {
        for (j, value) in row.iter().enumerate() {
            y[i * 3 + (j + 1) % 3] = *value;
        }
    }
}

/// Fixed extents, and a loop that is written out with others in each copy.
#[tensor_fn]
pub fn arrays(x: Tensor<f32, 3, 3>) -> (f32, Tensor<f32, 3, 3>) {
    let t: f32 = extern_call!(trace, x);
    let mut all = zeros::<f32>([3, 3]);
    #[unroll]
    for i in 1..3 {
        let part: Tensor<f32, { i }, 3> = extern_call!(rotate, x[[..i, ..]]);
        all[[..i, ..]] = part + all[[..i, ..]];
    }
    (t, all)
}

/// Functions of C: values, and an effect on state.
#[tensor_fn]
pub fn of_c(x: Tensor<f32, N>, calls: &mut Tensor<u32>, greatest: &mut Tensor<f32>) -> Tensor<f32, N> {
    let y: Tensor<f32, N> = unsafe { extern_call!(outside_smooth, x, N) };
    unsafe {
        extern_call!(outside_note, y, N, &mut calls, &mut greatest);
    }
    y
}

/// Every kind of scalar as C takes it.
#[tensor_fn]
pub fn scalars_of_c(b: bool, i: i8, u: u16, h: f16, f: f32, d: f64) -> Tensor<f64, 7> {
    unsafe { extern_call!(outside_scalars, b, i, u, h, f, d, -3) }
}

/// Every kind of scalar as a function of this crate takes it.
#[expect(clippy::too_many_arguments, reason = "one of each kind")]
pub fn scalars(b: bool, i: i8, u: u16, h: tenfold::f16, f: f32, d: f64, n: i64, out: &mut [f64; 7]) {
    let bits = f64::from(h.to_bits());
    *out = [f64::from(u8::from(b)), f64::from(i), f64::from(u), bits, f64::from(f), d, n as f64];
}

/// The same through a shim.
#[tensor_fn]
pub fn scalars_of_rust(b: bool, i: i8, u: u16, h: f16, f: f32, d: f64) -> Tensor<f64, 7> {
    extern_call!(scalars, b, i, u, h, f, d, -3)
}

/// What a function outside reads may have gaps.
#[tensor_fn]
pub fn strided(x: Strided<f32, H, W>) -> (Tensor<f32, H>, Tensor<f32, W>) {
    let both: (Tensor<f32, H>, Tensor<f32, W>) = extern_call!(dsp::sums, x);
    both
}
