//! Rows by the interpreter of tir: what warps and registers do, at extents that the suite of operators has not.

use tenfold_core::{Device, device_pipeline, pass, program};
use tenfold_ir::DType;
use tenfold_ir::op::{ElementOp, Real, ReduceOp, UnaryOp};
use tenfold_ir::relax::Op;
use tenfold_ir::tir::FuncKind;

use crate::assemble::in_registers;
use crate::attentions::{masked, of_keys, seen};
use crate::case::{Case, Make, fixed};
use crate::interpret;

/// Rows and columns: a warp a row with and without vectors, with columns left over, with rows left over; several warps.
const SHAPES: &[[i64; 2]] = &[[5, 33], [8, 64], [3, 200], [1, 512], [2, 700], [1, 1500], [2, 1025]];

fn rows(dtype: DType, shape: [i64; 2]) -> Case {
    let mut m = Make::new(&format!("rows_{}_{}_{}", dtype.name(), shape[0], shape[1]));
    let x = m.input(dtype, &fixed(&shape));
    let (scale, bias) = (m.input(dtype, &fixed(&shape[1..])), m.input(dtype, &fixed(&shape[1..])));
    let softmax = m.emit(Op::Softmax { axis: 1, log: false }, &[x]);
    let log = m.emit(Op::Softmax { axis: 1, log: true }, &[x]);
    let norm = m.emit(Op::LayerNorm { axis: 1, epsilon: Real::new(1e-3) }, &[x, scale, bias]);
    let absolute = m.element(ElementOp::Unary(UnaryOp::Abs), &[x]);
    let sums = m.reduce(ReduceOp::Sum, absolute, &[1], false);
    let most = m.reduce(ReduceOp::Max, x, &[1], true);
    m.done(&[softmax, log, norm, sums, most])
}

/// Rows as long as a dim says, and as many.
fn of_dims(dtype: DType, shape: [i64; 2]) -> Case {
    let mut m = Make::new(&format!("dims_{}_{}_{}", dtype.name(), shape[0], shape[1]));
    let [rows, columns] = [m.dim("N", shape[0], 0, 0), m.dim("M", shape[1], 0, 1)];
    let x = m.input(dtype, &[rows, columns.clone()]);
    let (scale, bias) = (m.input(dtype, std::slice::from_ref(&columns)), m.input(dtype, &[columns]));
    let softmax = m.emit(Op::Softmax { axis: 1, log: false }, &[x]);
    let norm = m.emit(Op::LayerNorm { axis: 1, epsilon: Real::new(1e-3) }, &[x, scale, bias]);
    let absolute = m.element(ElementOp::Unary(UnaryOp::Abs), &[x]);
    let sums = m.reduce(ReduceOp::Sum, absolute, &[1], false);
    m.done(&[softmax, norm, sums])
}

#[test]
fn attention_is_what_the_interpreter_admits() {
    for (device, dtype, keys) in [
        (Device::Sm80, DType::F32, 48),
        (Device::Sm90a, DType::F16, 48),
        (Device::Sm80, DType::F32, 530),
        (Device::Spirv, DType::F32, 48),
    ] {
        let made = interpret::prepare_with(of_keys(dtype, 40, [keys, 8, 24], false), &crate::context(device));
        assert!(made.is_ok(), "{device}: {}", made.err().unwrap_or_default());
    }
}

/// That each is so many kernels, whose results stay in registers and whose PTX has an instruction in it.
fn kernels_of_each(cases: Vec<Case>, count: usize, instruction: &str) {
    for (n, case) in cases.into_iter().enumerate() {
        kernels_of(case, crate::CHIPS[n % 2], count, instruction);
    }
}

/// Likewise of one, for a chip.
fn kernels_of(case: Case, device: Device, count: usize, instruction: &str) {
    let made = interpret::prepare_with(case, &crate::context(device));
    let case = made.unwrap_or_else(|why| panic!("{device}: {why}"));
    let kernels: Vec<_> = case.module.prims().filter(|func| func.kind == FuncKind::Device).collect();
    assert_eq!(kernels.len(), count, "{} for {device}", case.name);
    let Some(backend) = crate::backend() else { return };
    for kernel in kernels {
        let (_, text) = program::kernel(&case.module, kernel, device, &backend).expect("PTX");
        assert!(text.contains(instruction), "{} for {device}: no `{instruction}`\n{text}", case.name);
        in_registers(&case.name, device, &text);
    }
}

/// Attentions of `f32`.
#[test]
fn attention_is_one_kernel() {
    let cases = vec![
        of_keys(DType::F32, 40, [48, 8, 24], false),
        masked(DType::F32, 37, [70, 33, 20]),
        masked(DType::F32, 0, [40, 64, 64]),
        masked(DType::F32, 20, [33, 128, 128]),
    ];
    kernels_of_each(cases, 1, "fma.rn");
}

/// Attentions of `f32` whose keys and values lie in rows: a block comes by copies while the one before it is multiplied, or
/// where two have no room, before it is.
#[test]
fn blocks_of_keys_are_copied() {
    let staged = vec![of_keys(DType::F32, 80, [70, 32, 48], false), of_keys(DType::F32, 70, [100, 64, 64], true)];
    kernels_of_each(staged, 1, "cp.async.wait_group \t1;");
    kernels_of_each(vec![of_keys(DType::F32, 65, [33, 128, 128], false)], 1, "cp.async.cg.");
}

/// Attentions of halves whose lengths warps multiply.
#[test]
fn attention_of_halves_is_one_kernel() {
    let cases = vec![of_keys(DType::F16, 37, [70, 32, 48], false), of_keys(DType::BF16, 80, [40, 64, 32], false)];
    kernels_of_each(cases, 1, "mma.sync");
}

/// Those of more than 64 queries are multiplied by warpgroups where there are any: one block of keys and several, tails of
/// queries and keys, lengths that leave a part of a line empty.
#[test]
fn attention_of_halves_is_made_by_warpgroups() {
    let whole = of_keys(DType::BF16, 80, [40, 64, 64], false);
    kernels_of(whole, Device::Sm90a, 1, "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16");
    let empty = of_keys(DType::F16, 70, [300, 48, 96], false);
    kernels_of(empty, Device::Sm90a, 1, "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16");
}

/// Blocks of keys that no query of a group sees are left out, and those that all see have no mask: with and without a window,
/// tails of queries and keys, keys that no query sees. The loop over blocks asks how many there are.
#[test]
fn hidden_blocks_are_left_out() {
    let all = [
        (seen(DType::F32, [70, 100, 16], CAUSAL), Device::Sm80, "fma.rn"),
        (seen(DType::F32, [130, 90, 24], NEAR), Device::Sm90a, "fma.rn"),
        (seen(DType::F16, [80, 130, 16], NEAR), Device::Sm80, "mma.sync"),
        (seen(DType::BF16, [140, 200, 48], NEAR), Device::Sm90a, "wgmma.mma_async"),
    ];
    let backend = crate::backend();
    for (case, device, instruction) in all {
        let case = interpret::prepare_with(case, &crate::context(device)).unwrap_or_else(|why| panic!("{why}"));
        let Some(backend) = &backend else { continue };
        let mut kernels = case.module.prims().filter(|func| func.kind == FuncKind::Device);
        let (func, others) = (kernels.next().expect("a kernel"), kernels.count());
        assert_eq!(others, 0, "{} for {device}", case.name);
        let (_, text) = program::kernel(&case.module, func, device, backend).expect("PTX");
        assert!(text.contains(instruction), "{} for {device}\n{text}", case.name);
        in_registers(&case.name, device, &text);
        let (text, _) = tenfold_ir::module_text(&case.module);
        assert!(text.contains("let blocks"), "{} for {device} goes over all blocks\n{text}", case.name);
    }
    let shader = interpret::prepare_with(seen(DType::F32, [40, 70, 8], CAUSAL), &crate::context(Device::Spirv));
    assert!(shader.is_ok(), "{}", shader.err().unwrap_or_default());
}

/// No keys behind a query's own position; nor any that are far before it.
const CAUSAL: &str = "le(key, query)";
const NEAR: &str = "and(le(key, query), ge(key, sub(query, 30)))";

/// Few queries have their keys in parts, of which a second kernel makes one result.
#[test]
fn attention_of_few_queries_goes_in_parts() {
    let cases = vec![
        of_keys(DType::F16, 5, [150, 32, 48], false),
        of_keys(DType::F32, 1, [100, 40, 24], false),
        of_keys(DType::F32, 3, [300, 24, 40], true),
        of_keys(DType::BF16, 1, [530, 16, 32], true),
        of_keys(DType::F32, 1, [130, 32, 16], false),
    ];
    kernels_of_each(cases, 2, "fma.rn");
}

/// Every thread's turn between barriers, every exchange in a warp, and that no two threads race.
#[test]
fn rows_are_what_the_interpreter_admits() {
    let (mut errors, mut count) = (Vec::new(), 0);
    let dtypes = [DType::F32, DType::F16, DType::F64, DType::BF16];
    let all = std::env::var_os("TENFOLD_ALL").is_some();
    for (n, shape) in SHAPES.iter().enumerate() {
        for (m, dtype) in dtypes.into_iter().enumerate() {
            if !all && m > 0 && (n + m) % 4 > 0 {
                continue;
            }
            count += 1;
            let made = interpret::prepare_with(rows(dtype, *shape), &crate::context(Device::Sm80));
            errors.extend(made.err());
        }
    }
    assert!(errors.is_empty(), "{} of {count}: {}", errors.len(), errors.join("\n"));
}

/// Each of the lengths that a kernel is for, one that is longer, and rows of no column.
#[test]
fn rows_of_dims_are_what_the_interpreter_admits() {
    let all: &[(DType, [i64; 2], Device)] = &[
        (DType::F32, [5, 33], Device::Sm80),
        (DType::F16, [2, 700], Device::Sm90a),
        (DType::F32, [1, 5000], Device::Sm80),
        (DType::F32, [1, 8_200], Device::Sm80),
        (DType::F32, [1, 24_600], Device::Sm80),
        (DType::F32, [3, 0], Device::Sm80),
        (DType::F32, [3, 130], Device::Spirv),
        (DType::F32, [1, 600], Device::Spirv),
        (DType::F32, [1, 4100], Device::Spirv),
    ];
    for (dtype, shape, device) in all {
        let made = interpret::prepare_with(of_dims(*dtype, *shape), &crate::context(*device));
        assert!(made.is_ok(), "{shape:?} for {device}: {}", made.err().unwrap_or_default());
    }
}

/// Rows that registers hold, whose parts the memory of a group holds, and that go through memory in each loop.
const LONG: &[(DType, [i64; 2], Device)] = &[
    (DType::F32, [2, 20_480], Device::Sm80),
    (DType::F32, [2, 33_001], Device::Sm90a),
    (DType::BF16, [2, 26_000], Device::Sm80),
    (DType::F32, [2, 57_348], Device::Sm90a),
    (DType::F32, [3, 5_000], Device::Spirv),
];

fn long(dtype: DType, shape: [i64; 2]) -> Case {
    let mut m = Make::new(&format!("long_{}_{}", dtype.name(), shape[1]));
    let x = m.input(dtype, &fixed(&shape));
    let (scale, bias) = (m.input(dtype, &fixed(&shape[1..])), m.input(dtype, &fixed(&shape[1..])));
    let softmax = m.emit(Op::Softmax { axis: 1, log: false }, &[x]);
    let norm = m.emit(Op::LayerNorm { axis: 1, epsilon: Real::new(1e-3) }, &[x, scale, bias]);
    m.done(&[softmax, norm])
}

/// Each row is one kernel's, which the interpreter admits, without spills and arrays in memory.
#[test]
fn long_rows_are_one_kernel_each() {
    let backend = crate::backend();
    for (dtype, shape, device) in LONG {
        let made = interpret::prepare_with(long(*dtype, *shape), &crate::context(*device));
        let case = made.unwrap_or_else(|why| panic!("{shape:?} for {device}: {why}"));
        let Some(backend) = backend.as_ref().filter(|_| device.is_ptx()) else { continue };
        let kernels: Vec<_> = case.module.prims().filter(|func| func.kind == FuncKind::Device).collect();
        assert_eq!(kernels.len(), 2, "{shape:?} for {device}");
        for func in kernels {
            let (_, text) = program::kernel(&case.module, func, *device, backend).expect("PTX");
            assert!(text.contains(".reqntid 1024"), "`{}` for {device} has other threads\n{text}", func.name);
            in_registers(&func.name, *device, &text);
        }
    }
}

/// Where rows would have the largest group each, two groups of half as many threads share a multiprocessor, without spills;
/// `layer_norm`, of which a thread keeps more, has the largest one.
#[test]
fn long_rows_share_a_multiprocessor() {
    let Some(backend) = crate::backend() else { return };
    for (dtype, device) in [(DType::F32, Device::Sm90a), (DType::F32, Device::Sm80), (DType::F16, Device::Sm90a)] {
        let mut module = long(dtype, [2, 16_384]).module;
        pass::run(&device_pipeline(), &mut module, &crate::context(device)).expect("it is compiled");
        let kernels = module.prims().filter(|func| func.kind == FuncKind::Device);
        let texts: Vec<String> =
            kernels.map(|func| program::kernel(&module, func, device, &backend).expect("PTX").1).collect();
        let two = texts.iter().filter(|text| text.contains(".reqntid 512") && text.contains(".minnctapersm 2"));
        assert_eq!(two.count(), 1, "{texts:#?}");
        texts.iter().for_each(|text| in_registers("rows of two groups", device, text));
    }
}

/// What is read of a row stays in registers, and no kernel of a length spills.
#[test]
fn rows_of_dims_stay_in_registers() {
    let Some(backend) = crate::backend() else { return };
    for dtype in [DType::F32, DType::F16] {
        for device in crate::CHIPS {
            let made = interpret::prepare_with(of_dims(dtype, [1, 33]), &crate::context(device));
            let case = made.unwrap_or_else(|why| panic!("{why}"));
            for func in case.module.prims().filter(|func| func.kind == FuncKind::Device) {
                let (_, text) = program::kernel(&case.module, func, device, &backend).expect("PTX");
                in_registers(&func.name, device, &text);
            }
        }
    }
}

/// What the suite of operators gives on threads in warps; `TENFOLD_ALL=1` takes all of it.
#[test]
fn functions_are_what_the_interpreter_admits() {
    let (mut errors, mut count) = (Vec::new(), 0);
    for case in crate::cases(24) {
        count += 1;
        errors.extend(interpret::prepare_with(case, &crate::context(Device::Sm80)).err());
    }
    assert!(errors.is_empty(), "{} of {count}: {}", errors.len(), errors.join("\n"));
}
