//! A function that can fail: named and computed dims, facts, a scalar, an index value, state, a
//! half-precision input, two results and a check at run time.
//!
//! ```ignore
//! /// A step.
//! #[tensor_fn(dims(N <= 64))]
//! pub fn step(
//!     x: Tensor<f32, N, D>,
//!     h: Tensor<f16, N>,
//!     scale: f32,
//!     pos: usize,
//!     state: &mut Tensor<f32, { D - 1 }>,
//! ) -> (Tensor<f32, N, { D * 2 }>, Tensor<i32, N>) {
//!     assert!(pos < N, "the position is past the end");
//!     …
//! }
//! ```

::tenfold::rt::with_alloc! {
    /// A step.
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    pub fn step(
        x: &(impl ::tenfold::AsTensor<f32, (::tenfold::Dyn, ::tenfold::Dyn)> + ?::core::marker::Sized),
        h: &(impl ::tenfold::AsTensor<::tenfold::f16, (::tenfold::Dyn,)> + ?::core::marker::Sized),
        scale: f32,
        pos: usize,
        state: &mut (impl ::tenfold::AsTensorMut<f32, (::tenfold::Dyn,)> + ?::core::marker::Sized),
    ) -> ::core::result::Result<
        (
            ::tenfold::Tensor<f32, (::tenfold::Dyn, ::tenfold::Dyn)>,
            ::tenfold::Tensor<i32, (::tenfold::Dyn,)>,
        ),
        ::tenfold::Error,
    > {
        let x = ::tenfold::rt::input("x", x)?;
        let h = ::tenfold::rt::input("h", h)?;
        let pos = ::tenfold::rt::index(pos);
        let mut state = ::tenfold::rt::state("state", state)?;
        let (dims, e0, e1) = step::bind(x.shape(), h.shape(), pos, state.shape())?;
        let mut r0 = ::tenfold::rt::Owned::new("result.0", e0)?;
        let mut r1 = ::tenfold::rt::Owned::new("result.1", e1)?;
        let mut ws = ::tenfold::rt::Scratch::new(step::workspace(dims))?;
        unsafe {
            step::run(
                x.as_ptr(), h.as_ptr(), scale, pos, state.as_mut_ptr(),
                r0.as_mut_ptr(), r1.as_mut_ptr(), dims, ws.as_mut_ptr(),
            )?;
            ::core::result::Result::Ok((r0.written(), r1.written()))
        }
    }
}

/// Sizes of [`step()`](fn@step), and its calls that allocate nothing.
#[allow(dead_code, unreachable_pub, clippy::module_inception, clippy::too_many_arguments, clippy::type_complexity)]
pub mod step {
    const _: () = ::tenfold::rt::Abi::<6>::OK;

    /// Bytes of constants.
    pub const WEIGHT_BYTES: usize = 0;
    /// Bytes of machine code.
    pub const CODE_BYTES: usize = 0;
    /// Bytes of stack, at most.
    pub const STACK_BYTES: usize = 64;

    /// The function as a value, for calls by name.
    pub const FUNCTION: ::tenfold::Function = ::tenfold::rt::function(::tenfold::rt::FunctionInfo {
        signature: &::tenfold::Signature {
            name: "step",
            params: &[
                ::tenfold::Param {
                    name: "x",
                    kind: ::tenfold::Kind::Input,
                    dtype: ::core::option::Option::Some(::tenfold::DType::F32),
                    dims: &["N", "D"],
                },
                ::tenfold::Param {
                    name: "h",
                    kind: ::tenfold::Kind::Input,
                    dtype: ::core::option::Option::Some(::tenfold::DType::F16),
                    dims: &["N"],
                },
                ::tenfold::Param {
                    name: "scale",
                    kind: ::tenfold::Kind::Scalar,
                    dtype: ::core::option::Option::Some(::tenfold::DType::F32),
                    dims: &[],
                },
                ::tenfold::Param {
                    name: "pos",
                    kind: ::tenfold::Kind::Usize,
                    dtype: ::core::option::Option::None,
                    dims: &[],
                },
                ::tenfold::Param {
                    name: "state",
                    kind: ::tenfold::Kind::State,
                    dtype: ::core::option::Option::Some(::tenfold::DType::F32),
                    dims: &["{ D - 1 }"],
                },
            ],
            results: &[
                ::tenfold::Param {
                    name: "result.0",
                    kind: ::tenfold::Kind::Result,
                    dtype: ::core::option::Option::Some(::tenfold::DType::F32),
                    dims: &["N", "{ D * 2 }"],
                },
                ::tenfold::Param {
                    name: "result.1",
                    kind: ::tenfold::Kind::Result,
                    dtype: ::core::option::Option::Some(::tenfold::DType::I32),
                    dims: &["N"],
                },
            ],
            facts: &["N <= 64", "pos < N"],
        },
        // `D` has no bound, so there is no constant.
        workspace_bytes: ::core::option::Option::None,
        weight_bytes: WEIGHT_BYTES,
        variants: &[::tenfold::Variant { name: "baseline", features: &[] }],
        call: |args| {
            let p0 = args.input::<f32, (::tenfold::Dyn, ::tenfold::Dyn)>()?;
            let p1 = args.input::<::tenfold::f16, (::tenfold::Dyn,)>()?;
            let p2 = args.scalar::<f32>()?;
            let p3 = args.index::<usize>()?;
            let mut p4 = args.state::<f32, (::tenfold::Dyn,)>()?;
            let mut r0 = args.result::<f32, (::tenfold::Dyn, ::tenfold::Dyn)>()?;
            let mut r1 = args.result::<i32, (::tenfold::Dyn,)>()?;
            into(&p0, &p1, p2, p3, &mut p4, &mut r0, &mut r1, args.workspace_bytes())
        },
    });

    /// Bytes of workspace for these dims; `usize::MAX` if they do not fit.
    #[must_use]
    pub fn workspace_bytes(n: usize, d: usize) -> usize {
        workspace([::tenfold::rt::index(n), ::tenfold::rt::index(d)])
    }

    /// Writes the results in place; never allocates.
    pub fn into(
        x: &(impl ::tenfold::AsTensor<f32, (::tenfold::Dyn, ::tenfold::Dyn)> + ?::core::marker::Sized),
        h: &(impl ::tenfold::AsTensor<::tenfold::f16, (::tenfold::Dyn,)> + ?::core::marker::Sized),
        scale: f32,
        pos: usize,
        state: &mut (impl ::tenfold::AsTensorMut<f32, (::tenfold::Dyn,)> + ?::core::marker::Sized),
        r0: &mut (impl ::tenfold::AsTensorMut<f32, (::tenfold::Dyn, ::tenfold::Dyn)> + ?::core::marker::Sized),
        r1: &mut (impl ::tenfold::AsTensorMut<i32, (::tenfold::Dyn,)> + ?::core::marker::Sized),
        ws: &mut (impl ::tenfold::AsWorkspace + ?::core::marker::Sized),
    ) -> ::core::result::Result<(), ::tenfold::Error> {
        let x = ::tenfold::rt::input("x", x)?;
        let h = ::tenfold::rt::input("h", h)?;
        let pos = ::tenfold::rt::index(pos);
        let mut state = ::tenfold::rt::state("state", state)?;
        let (dims, e0, e1) = bind(x.shape(), h.shape(), pos, state.shape())?;
        let mut r0 = ::tenfold::rt::result("result.0", r0, e0, &["N", "{ D * 2 }"])?;
        let mut r1 = ::tenfold::rt::result("result.1", r1, e1, &["N"])?;
        let ws = ::tenfold::rt::workspace(ws, workspace(dims))?;
        unsafe {
            run(x.as_ptr(), h.as_ptr(), scale, pos, state.as_mut_ptr(), r0.as_mut_ptr(), r1.as_mut_ptr(), dims, ws)
        }
    }

    /// Parameters, results and facts.
    #[must_use]
    pub const fn signature() -> &'static ::tenfold::Signature {
        FUNCTION.signature()
    }

    /// The codes that there are, the best first.
    #[must_use]
    pub const fn variants() -> &'static [::tenfold::Variant] {
        FUNCTION.variants()
    }

    /// Binds `N` and `D`, checks every other place, the facts and the extents of the results.
    /// Parameters are called by their place, so that no dim or parameter of the user's is shadowed.
    #[allow(non_snake_case)]
    #[inline]
    pub(super) fn bind(
        p0: [usize; 2],
        p1: [usize; 1],
        pos: i64,
        p4: [usize; 1],
    ) -> ::core::result::Result<([i64; 2], [usize; 2], [usize; 1]), ::tenfold::Error> {
        let N = p0[0] as i64;
        let D = p0[1] as i64;
        ::tenfold::rt::same("h", 0, p1[0], "N", N, ("x", 0))?;
        ::tenfold::rt::expect("state", 0, p4[0], "{ D - 1 }", ::tenfold::rt::sub(D, 1_i64))?;
        ::tenfold::rt::fact(N <= 64_i64, "N <= 64")?;
        ::tenfold::rt::fact_text(pos < N, "pos < N", "the position is past the end")?;
        let e0 = [::tenfold::rt::extent("N", N)?, ::tenfold::rt::extent("{ D * 2 }", ::tenfold::rt::mul(D, 2_i64))?];
        let e1 = [::tenfold::rt::extent("N", N)?];
        ::core::result::Result::Ok(([N, D], e0, e1))
    }

    /// The bytes of workspace, as the build script planned them.
    #[allow(non_snake_case)]
    #[inline]
    pub(super) fn workspace(dims: [i64; 2]) -> usize {
        let [N, _D] = dims;
        ::tenfold::rt::bytes(::tenfold::rt::round_up(::tenfold::rt::mul(N, 4_i64), 64_i64))
    }

    /// # Safety
    ///
    /// The pointers are as the convention has them, and the dims are those that `bind` gave.
    #[inline]
    pub(super) unsafe fn run(
        p0: *const f32,
        p1: *const ::tenfold::f16,
        p2: f32,
        p3: i64,
        p4: *mut f32,
        r0: *mut f32,
        r1: *mut i32,
        dims: [i64; 2],
        ws: *mut u8,
    ) -> ::core::result::Result<(), ::tenfold::Error> {
        // In a user's crate: #[link(name = "tenfold_…", kind = "static")]
        unsafe extern "C" {
            fn __tenfold_emitted_step(
                p0: *const f32,
                p1: *const ::tenfold::f16,
                p2: f32,
                p3: isize,
                p4: *mut f32,
                r0: *mut f32,
                r1: *mut i32,
                d0: isize,
                d1: isize,
                ws: *mut u8,
                context: *const ::core::ffi::c_void,
            ) -> i32;
        }
        let p2 = ::tenfold::rt::scalar(p2);
        let context = ::tenfold::rt::Context::new();
        let context = context.as_ptr();
        let (d0, d1) = (dims[0] as isize, dims[1] as isize);
        let status = unsafe { __tenfold_emitted_step(p0, p1, p2, p3 as isize, p4, r0, r1, d0, d1, ws, context) };
        ::tenfold::rt::finish(status, &["scale >= 0.0"])
    }
}
