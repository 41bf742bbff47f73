//! Elements, of which a thread makes some at once: that accesses are of 16 bytes where the shapes allow it, by the
//! interpreter of what was scheduled, and by the assembler.

use tenfold_core::program;
use tenfold_ir::DType;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{Activation, BinaryOp, CmpOp, ElementOp, UnaryOp};
use tenfold_ir::relax::{Op, ValueId};
use tenfold_ir::tir::FuncKind;

use crate::assemble::in_registers;
use crate::case::{Case, Make, fixed};
use crate::interpret;

/// Whether a thread makes some elements at once, and what its accesses look like then.
type Expected = &'static [&'static str];

const FOUR: Expected = &["ld.global.nc.v4.b32", "st.global.v4.b32"];
const NONE: Expected = &[];

fn tail(m: &mut Make, x: ValueId) -> ValueId {
    let y = m.element(ElementOp::Unary(UnaryOp::Abs), &[x]);
    m.element(ElementOp::Binary(BinaryOp::Add), &[x, y])
}

fn same(name: &str, dtype: DType, shape: &[i64]) -> Case {
    let mut m = Make::new(name);
    let x = m.input(dtype, &fixed(shape));
    let y = tail(&mut m, x);
    m.done(&[y])
}

/// As many as dims say.
fn dims(name: &str, dtype: DType, dims: &[i64]) -> Case {
    let mut m = Make::new(name);
    let names = ["N", "M", "K"];
    let shape: Vec<IntExpr> = dims.iter().enumerate().map(|(n, d)| m.dim(names[n], *d, 0, n)).collect();
    let x = m.input(dtype, &shape);
    let y = tail(&mut m, x);
    m.done(&[y])
}

/// A number for each column, or for each row.
fn spread(name: &str, dtype: DType, rows: Option<i64>, shape: [i64; 2], of: [i64; 2]) -> Case {
    let mut m = Make::new(name);
    let first = rows.map_or(IntExpr::from(shape[0]), |rows| m.dim("N", rows, 0, 0));
    let (x, bias) = (m.input(dtype, &[first, shape[1].into()]), m.input(dtype, &fixed(&of)));
    let y = m.element(ElementOp::Binary(BinaryOp::Add), &[x, bias]);
    let y = m.element(ElementOp::Activation(Activation::Relu), &[y]);
    m.done(&[y])
}

/// Elements of several sizes: as many at once as of the largest fit.
fn mixed() -> Case {
    let mut m = Make::new("elements_mixed");
    let [x, y] = [DType::F16, DType::F32].map(|dtype| m.input(dtype, &fixed(&[6, 40])));
    let x = m.element(ElementOp::Cast(DType::F32), &[x]);
    let less = m.element(ElementOp::Compare(CmpOp::Lt), &[x, y]);
    m.done(&[less])
}

fn turned() -> Case {
    let mut m = Make::new("elements_turned");
    let x = m.input(DType::F32, &fixed(&[24, 40]));
    let y = m.emit(Op::Transpose { perm: vec![1, 0] }, &[x]);
    m.done(&[y])
}

/// Turned around, as many as dims say: a thread has several, as far apart as there are threads.
fn turned_dims(rows: i64, columns: i64) -> Case {
    let mut m = Make::new(&format!("elements_turned_{rows}"));
    let [rows, columns] = [m.dim("N", rows, 0, 0), m.dim("M", columns, 0, 1)];
    let x = m.input(DType::F32, &[rows, columns]);
    let y = m.emit(Op::Transpose { perm: vec![1, 0] }, &[x]);
    m.done(&[y])
}

fn cases() -> Vec<(Case, Expected)> {
    vec![
        (same("elements_whole", DType::F32, &[8, 48]), FOUR),
        (same("elements_odd", DType::F32, &[7, 9, 5]), FOUR),
        (same("elements_f16", DType::F16, &[6, 64]), FOUR),
        (same("elements_bf16_odd", DType::BF16, &[3, 7, 11]), FOUR),
        (same("elements_i8", DType::I8, &[5, 96]), FOUR),
        (same("elements_f64", DType::F64, &[5, 6]), &["ld.global.nc.v2.b64", "st.global.v2.b64"]),
        (same("elements_few", DType::F32, &[6]), FOUR),
        (dims("elements_none", DType::F32, &[0]), FOUR),
        (dims("elements_left", DType::F32, &[1030]), FOUR),
        (dims("elements_dims", DType::F16, &[6, 7]), FOUR),
        (dims("elements_no_columns", DType::F32, &[3, 0, 2]), FOUR),
        (spread("elements_bias", DType::F32, None, [33, 64], [1, 64]), FOUR),
        (spread("elements_bias_f16", DType::F16, Some(5), [0, 64], [1, 64]), FOUR),
        (spread("elements_row", DType::F32, None, [9, 64], [9, 1]), FOUR),
        (spread("elements_bias_odd", DType::F32, None, [33, 35], [1, 35]), NONE),
        (mixed(), &["ld.global.nc.v4.b32", "ld.global.nc.v4.b16", "st.global.b32"]),
        (turned(), NONE),
        (turned_dims(30, 41), NONE),
        (turned_dims(0, 4), NONE),
    ]
}

#[test]
fn threads_make_some_elements_at_once() {
    let backend = crate::backend();
    for (case, expected) in cases() {
        for device in crate::CHIPS {
            let case =
                interpret::prepare_with(case.clone(), &crate::context(device)).unwrap_or_else(|why| panic!("{why}"));
            let kernels: Vec<_> = case.module.prims().filter(|func| func.kind == FuncKind::Device).collect();
            assert_eq!(kernels.len(), 1, "{}", case.name);
            let Some(backend) = &backend else { continue };
            let (_, text) = program::kernel(&case.module, kernels[0], device, backend).expect("PTX");
            for access in expected {
                assert!(text.contains(access), "{} for {device}: no `{access}`\n{text}", case.name);
            }
            if expected.is_empty() {
                assert!(!text.contains("global.v") && !text.contains(".nc.v"), "{} for {device}\n{text}", case.name);
            }
            in_registers(&case.name, device, &text);
        }
    }
}
