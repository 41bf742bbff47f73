//! A function whose sizes are bounded, with a strided input, scalars of other types, and a result
//! of rank 0.
//!
//! ```ignore
//! /// The mean of `x`, or of its negative.
//! #[tensor_fn(dims(H <= 8, W <= 8))]
//! pub fn mean_of(x: Strided<f32, H, W>, negate: bool, bias: f16) -> f32 {
//!     …
//! }
//! ```

::tenfold::rt::with_alloc! {
    /// The mean of `x`, or of its negative.
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    pub fn mean_of(
        x: &(impl ::tenfold::AsStrided<f32, (::tenfold::Dyn, ::tenfold::Dyn)> + ?::core::marker::Sized),
        negate: bool,
        bias: ::tenfold::f16,
    ) -> ::core::result::Result<f32, ::tenfold::Error> {
        let x = ::tenfold::rt::strided("x", x)?;
        let (dims,) = mean_of::bind(x.shape())?;
        let mut r0 = <f32 as ::core::default::Default>::default();
        let mut ws = ::tenfold::rt::Scratch::new(mean_of::WORKSPACE_BYTES)?;
        unsafe {
            mean_of::run(x.as_ptr(), x.strides(), negate, bias, &mut r0, dims, ws.as_mut_ptr())?;
        }
        ::core::result::Result::Ok(r0)
    }
}

/// Sizes of [`mean_of()`](fn@mean_of), and its calls that allocate nothing.
#[allow(dead_code, unreachable_pub)]
#[allow(clippy::module_inception, clippy::too_many_arguments, clippy::type_complexity)]
pub mod mean_of {
    const _: () = ::tenfold::rt::Abi::<6>::OK;

    /// Bytes of workspace.
    pub const WORKSPACE_BYTES: usize = 256;
    /// Bytes of constants.
    pub const WEIGHT_BYTES: usize = 0;

    /// Memory for what is computed on the way.
    pub type Workspace = ::tenfold::Workspace<{ WORKSPACE_BYTES }>;

    /// The function as a value, for calls by name.
    pub const FUNCTION: ::tenfold::Function = ::tenfold::rt::function(::tenfold::rt::FunctionInfo {
        signature: &::tenfold::Signature {
            name: "mean_of",
            params: &[
                ::tenfold::Param {
                    name: "x",
                    kind: ::tenfold::Kind::Strided,
                    dtype: ::core::option::Option::Some(::tenfold::DType::F32),
                    dims: &["H", "W"],
                },
                ::tenfold::Param {
                    name: "negate",
                    kind: ::tenfold::Kind::Scalar,
                    dtype: ::core::option::Option::Some(::tenfold::DType::Bool),
                    dims: &[],
                },
                ::tenfold::Param {
                    name: "bias",
                    kind: ::tenfold::Kind::Scalar,
                    dtype: ::core::option::Option::Some(::tenfold::DType::F16),
                    dims: &[],
                },
            ],
            results: &[::tenfold::Param {
                name: "result",
                kind: ::tenfold::Kind::Result,
                dtype: ::core::option::Option::Some(::tenfold::DType::F32),
                dims: &[],
            }],
            facts: &["H <= 8", "W <= 8"],
        },
        workspace_bytes: ::core::option::Option::Some(WORKSPACE_BYTES),
        weight_bytes: WEIGHT_BYTES,
        variants: &[::tenfold::Variant { name: "baseline", features: &[] }],
        call: |args| {
            let p0 = args.input::<f32, (::tenfold::Dyn, ::tenfold::Dyn)>()?;
            let p1 = args.scalar::<bool>()?;
            let p2 = args.scalar::<::tenfold::f16>()?;
            let mut r0 = args.result::<f32, ()>()?;
            into(&p0, p1, p2, &mut r0, args.workspace::<{ WORKSPACE_BYTES }>()?)
        },
    });

    /// Writes the result in place; never allocates.
    pub fn into(
        x: &(impl ::tenfold::AsStrided<f32, (::tenfold::Dyn, ::tenfold::Dyn)> + ?::core::marker::Sized),
        negate: bool,
        bias: ::tenfold::f16,
        r0: &mut (impl ::tenfold::AsTensorMut<f32, ()> + ?::core::marker::Sized),
        ws: &mut Workspace,
    ) -> ::core::result::Result<(), ::tenfold::Error> {
        let x = ::tenfold::rt::strided("x", x)?;
        let (dims,) = bind(x.shape())?;
        let mut r0 = ::tenfold::rt::result("result", r0, [], &[])?;
        unsafe { run(x.as_ptr(), x.strides(), negate, bias, r0.as_mut_ptr(), dims, ws.as_mut_ptr()) }
    }

    /// Binds `H` and `W`, and checks the facts.
    #[allow(non_snake_case)]
    #[inline]
    pub(super) fn bind(p0: [usize; 2]) -> ::core::result::Result<([i64; 2],), ::tenfold::Error> {
        let H = p0[0] as i64;
        let W = p0[1] as i64;
        ::tenfold::rt::fact(H <= 8_i64, "H <= 8")?;
        ::tenfold::rt::fact(W <= 8_i64, "W <= 8")?;
        ::core::result::Result::Ok(([H, W],))
    }

    /// # Safety
    ///
    /// The pointers are as the convention has them, and the dims are those that `bind` gave.
    #[inline]
    pub(super) unsafe fn run(
        p0: *const f32,
        s0: [isize; 2],
        p1: bool,
        p2: ::tenfold::f16,
        r0: *mut f32,
        dims: [i64; 2],
        ws: *mut u8,
    ) -> ::core::result::Result<(), ::tenfold::Error> {
        // In a user's crate: #[link(name = "tenfold_…", kind = "static")]
        unsafe extern "C" {
            fn __tenfold_emitted_mean_of(
                p0: *const f32,
                s00: isize,
                s01: isize,
                p1: u8,
                p2: u16,
                r0: *mut f32,
                d0: isize,
                d1: isize,
                ws: *mut u8,
                context: *const ::core::ffi::c_void,
            ) -> i32;
        }
        let (p1, p2) = (::tenfold::rt::scalar(p1), ::tenfold::rt::scalar(p2));
        let context = ::tenfold::rt::Context::new();
        let context = context.as_ptr();
        let (d0, d1) = (dims[0] as isize, dims[1] as isize);
        let status = unsafe { __tenfold_emitted_mean_of(p0, s0[0], s0[1], p1, p2, r0, d0, d1, ws, context) };
        ::tenfold::rt::finish(status, &[])
    }
}
