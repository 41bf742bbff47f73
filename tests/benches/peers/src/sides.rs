//! Who multiplies matrices.
#![allow(unsafe_code, reason = "calls other libraries, and C")]

use std::ffi::{c_int, c_long};
use std::path::PathBuf;

use libloading::Library;
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder};
use tenfold_core::pass::PassContext;

use crate::Shape;
use crate::compiled::{Arguments, Compiled, compiled, host_target, lowered};

/// Two matrices and where their product goes, row by row.
pub struct Operands {
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
    /// The same for what Tenfold compiled.
    ours: Option<Arguments>,
}

/// A library.
pub struct Side {
    pub name: &'static str,
    /// Whether its operands are those of what Tenfold compiled.
    pub ours: bool,
    pub run: Box<dyn FnMut(&mut Operands)>,
}

impl Operands {
    pub fn new(Shape { m, k, n, .. }: Shape) -> Operands {
        let filled = |count: usize, by: usize| (0..count).map(|i| ((i * by) % 23) as f32 / 8.0 - 1.25).collect();
        Operands { a: filled(m * k, 7), b: filled(k * n, 5), c: vec![0.0; m * n], ours: None }
    }

    pub fn result(&mut self, ours: bool) -> Vec<f32> {
        let count = self.c.len();
        match &mut self.ours {
            Some(arguments) if ours => arguments.memory[2].floats()[..count].to_vec(),
            Some(_) | None => self.c.clone(),
        }
    }

    fn of(&mut self, compiled: &Compiled) -> &mut Arguments {
        let (a, b) = (&self.a, &self.b);
        self.ours.get_or_insert_with(|| compiled.arguments(&[a, b]))
    }
}

/// Tenfold twice, then the peers.
pub fn all(shape: Shape) -> Vec<Side> {
    let ours = |name| {
        let compiled = product(shape);
        Side { name, ours: true, run: Box::new(move |o| compiled.call_with(o.of(&compiled))) }
    };
    let mut all = vec![ours("tenfold"), ours("again"), gemm(shape), matrixmultiply(shape), ndarray(shape)];
    #[cfg(feature = "faer")]
    all.push(faer(shape));
    all.extend(openblas(shape));
    all
}

fn product(shape: Shape) -> Compiled {
    let Shape { m, k, n, transposed } = shape;
    let (rows, columns) = if transposed { (n, k) } else { (k, n) };
    let b = if transposed { format!("v3: f32[{k}, {n}] = transpose(v1, perm = [1, 0])\n") } else { String::new() };
    let factor = if transposed { "v3" } else { "v1" };
    let text = format!(
        "entry @product\nsource \"product\"\nrelax @product phase imported {{\nparam v0: f32[{m}, {k}] = input 0 \"a\"\n\
         param v1: f32[{rows}, {columns}] = input 1 \"b\"\ndataflow {{\n{b}v2: f32[{m}, {n}] = matmul(v0, {factor})\n}}\n\
         return v2\n}}\n"
    );
    let module = tenfold_ir::parse_module(&text, &[]).unwrap_or_else(|e| panic!("{text}\n{e:?}"));
    let mut context = PassContext::new(host_target());
    context.verify = false;
    let (low, workspace) = lowered(&module, &context);
    let found = tenfold_llvm::find(&tenfold_llvm::Env::from_process());
    let llvm = tenfold_llvm::load(&found).expect("LLVM is there");
    let backend = tenfold_llvm::LlvmBackend::new(llvm, &found);
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/products").join(shape.name());
    compiled(&low, workspace, &backend, &context.target, &folder)
}

fn gemm(shape: Shape) -> Side {
    let (Shape { m, k, n, .. }, [down, along]) = (shape, shape.steps());
    let run = move |o: &mut Operands| {
        let (rows, columns) = (n as isize, 1);
        // SAFETY: the matrices have these extents and lie so.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                o.c.as_mut_ptr(),
                columns,
                rows,
                false,
                o.a.as_ptr(),
                1,
                k as isize,
                o.b.as_ptr(),
                along as isize,
                down as isize,
                0.0,
                1.0,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    };
    Side { name: "gemm", ours: false, run: Box::new(run) }
}

fn matrixmultiply(shape: Shape) -> Side {
    let (Shape { m, k, n, .. }, [down, along]) = (shape, shape.steps());
    let run = move |o: &mut Operands| {
        let (inner, rows) = (k as isize, n as isize);
        // SAFETY: the matrices have these extents and lie so.
        unsafe {
            matrixmultiply::sgemm(
                m,
                k,
                n,
                1.0,
                o.a.as_ptr(),
                inner,
                1,
                o.b.as_ptr(),
                down as isize,
                along as isize,
                0.0,
                o.c.as_mut_ptr(),
                rows,
                1,
            );
        }
    };
    Side { name: "matrixmultiply", ours: false, run: Box::new(run) }
}

#[cfg(feature = "faer")]
fn faer(Shape { m, k, n, transposed }: Shape) -> Side {
    use faer::linalg::matmul::matmul;
    use faer::{Accum, MatMut, MatRef, Par};
    let run = move |o: &mut Operands| {
        let a = MatRef::from_row_major_slice(&o.a, m, k);
        let b = match transposed {
            true => MatRef::from_column_major_slice(&o.b, k, n),
            false => MatRef::from_row_major_slice(&o.b, k, n),
        };
        let c = MatMut::from_row_major_slice_mut(&mut o.c, m, n);
        matmul(c, Accum::Replace, a, b, 1.0, Par::Seq);
    };
    Side { name: "faer", ours: false, run: Box::new(run) }
}

fn ndarray(shape: Shape) -> Side {
    let (Shape { m, k, n, .. }, [down, along]) = (shape, shape.steps());
    let run = move |o: &mut Operands| {
        let a = ArrayView2::from_shape((m, k), &o.a).expect("as many elements");
        let b = ArrayView2::from_shape((k, n).strides((down, along)), &o.b).expect("as many elements");
        let mut c = ArrayViewMut2::from_shape((m, n), &mut o.c).expect("as many elements");
        general_mat_mul(1.0, &a, &b, 0.0, &mut c);
    };
    Side { name: "ndarray", ours: false, run: Box::new(run) }
}

/// `cblas_sgemm` with integers of one width.
type Sgemm<I> = unsafe extern "C" fn(c_int, c_int, c_int, I, I, I, f32, *const f32, I, *const f32, I, f32, *mut f32, I);

/// OpenBLAS, where there is one. NumPy's has other names and integers of 64 bits.
fn openblas(shape: Shape) -> Option<Side> {
    let path = std::env::var("TENFOLD_OPENBLAS").unwrap_or_else(|_| "libopenblas.so.0".into());
    // SAFETY: it has no initialisers but OpenBLAS's own.
    let library = unsafe { Library::new(&path) }.ok()?;
    for name in ["openblas_set_num_threads", "scipy_openblas_set_num_threads64_"] {
        // SAFETY: both take one integer.
        unsafe {
            if let Ok(set) = library.get::<unsafe extern "C" fn(c_int)>(name.as_bytes()) {
                set(1);
            }
        }
    }
    // SAFETY: these are the types of these functions.
    let [narrow, wide] = unsafe {
        let narrow = library.get::<Sgemm<c_int>>(b"cblas_sgemm").ok().map(|f| blas::<c_int>(*f, shape));
        let wide = library.get::<Sgemm<c_long>>(b"scipy_cblas_sgemm64_").ok().map(|f| blas::<c_long>(*f, shape));
        [narrow, wide]
    };
    // The functions are used until the process ends.
    std::mem::forget(library);
    narrow.or(wide)
}

fn blas<I: TryFrom<usize> + Copy + 'static>(sgemm: Sgemm<I>, Shape { m, k, n, transposed }: Shape) -> Side {
    const ROW_MAJOR: c_int = 101;
    const AS_IT_IS: c_int = 111;
    const TRANSPOSED: c_int = 112;
    let int = |x: usize| I::try_from(x).ok().expect("an extent that C can say");
    let (m, k, n) = (int(m), int(k), int(n));
    let (other, apart) = if transposed { (TRANSPOSED, k) } else { (AS_IT_IS, n) };
    let run = move |o: &mut Operands| {
        let (a, b, c) = (o.a.as_ptr(), o.b.as_ptr(), o.c.as_mut_ptr());
        // SAFETY: the matrices have these extents and lie so.
        unsafe { sgemm(ROW_MAJOR, AS_IT_IS, other, m, n, k, 1.0, a, k, b, apart, 0.0, c, n) }
    };
    Side { name: "OpenBLAS", ours: false, run: Box::new(run) }
}
