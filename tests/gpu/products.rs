//! Products of halves, which warps multiply: both tiles, whole and with something left over, by the interpreter of what was
//! scheduled, by the assembler, and on a GPU where there is one.

use tenfold::Cuda;
use tenfold_core::{Device, program};
use tenfold_ir::DType;
use tenfold_ir::op::{Activation, BinaryOp, ElementOp, UnaryOp};
use tenfold_ir::relax::{ConvLayout, Op, ValueId, Window};
use tenfold_ir::tir::FuncKind;

use crate::assemble::in_registers;
use crate::case::{Case, Make, fixed};
use crate::interpret::{self, Prepared};

fn product(name: &str, dtype: DType, x: &[i64], w: &[i64]) -> Case {
    let mut m = Make::new(name);
    let (x, w) = (m.input(dtype, &fixed(x)), m.input(dtype, &fixed(w)));
    let y = m.emit(Op::MatMul, &[x, w]);
    m.done(&[y])
}

fn swapped(m: &mut Make, dtype: DType, shape: &[i64]) -> ValueId {
    let x = m.input(dtype, &fixed(shape));
    m.emit(Op::Transpose { perm: vec![1, 0] }, &[x])
}

/// Both factors lie in memory along the other axis.
fn transposed(name: &str, dtype: DType, [rows, terms, columns]: [i64; 3]) -> Case {
    let mut m = Make::new(name);
    let (x, w) = (swapped(&mut m, dtype, &[terms, rows]), swapped(&mut m, dtype, &[columns, terms]));
    let y = m.emit(Op::MatMul, &[x, w]);
    m.done(&[y])
}

/// What stands before and behind a product runs in its kernel, and rows are as many as a dim says.
fn fused(dtype: DType, rows: i64, after: Activation) -> Case {
    let mut m = Make::new(&format!("half_fused_{rows}_{}", dtype.name()));
    let n = m.dim("N", rows, 0, 0);
    let x = m.input(dtype, &[n, 33.into()]);
    let (w, bias) = (m.constant(dtype, &[33, 45]), m.constant(dtype, &[45]));
    let x = m.element(ElementOp::Unary(UnaryOp::Abs), &[x]);
    let y = m.emit(Op::MatMul, &[x, w]);
    let y = m.element(ElementOp::Binary(BinaryOp::Add), &[y, bias]);
    let y = m.element(ElementOp::Activation(after), &[y]);
    m.done(&[y])
}

fn convolution(dtype: DType, channels: i64) -> Case {
    let mut m = Make::new(&format!("conv_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[2, 3, 11, 10]));
    let w = m.constant(dtype, &[channels, 3, 3, 3]);
    let bias = m.constant(dtype, &[channels]);
    let window = Window { kernel: vec![3, 3], strides: vec![2, 1], pads: vec![1, 1, 1, 1], dilations: vec![1, 1] };
    let y = m.emit(Op::Conv { window, group: 1, layout: ConvLayout::default() }, &[x, w, bias]);
    let y = m.element(ElementOp::Activation(Activation::Relu), &[y]);
    m.done(&[y])
}

/// Of integers of 8 bits, as 32: four terms at once.
fn bytes(name: &str, dtypes: [DType; 2], x: &[i64], w: &[i64]) -> Case {
    let mut m = Make::new(name);
    let (x, w) = (m.input(dtypes[0], &fixed(x)), m.input(dtypes[1], &fixed(w)));
    let [x, w] = [x, w].map(|it| m.element(ElementOp::Cast(DType::I32), &[it]));
    let y = m.emit(Op::MatMul, &[x, w]);
    m.done(&[y])
}

fn cases() -> Vec<Case> {
    vec![
        product("half_whole", DType::BF16, &[128, 64], &[64, 128]),
        product("half_left_over", DType::F16, &[70, 40], &[40, 100]),
        product("half_odd", DType::BF16, &[67, 35], &[35, 71]),
        product("half_small", DType::F16, &[16, 16], &[16, 16]),
        product("half_heads", DType::F16, &[2, 1, 17, 24], &[3, 24, 33]),
        transposed("half_transposed", DType::BF16, [72, 48, 80]),
        transposed("half_transposed_odd", DType::F16, [33, 19, 21]),
        fused(DType::BF16, 0, Activation::Relu),
        fused(DType::F16, 19, Activation::Gelu),
        convolution(DType::F16, 26),
    ]
}

/// Tiles in several strips of several rows of tiles, of several columns.
fn of_strips() -> Vec<Case> {
    vec![product("half_strips", DType::BF16, &[2176, 16], &[16, 72])]
}

/// What warpgroups multiply: a ring of stages that comes round, in both orders of each factor, with something left over; rows
/// of two axes, a batch, and rows that lie where no box has them.
fn of_warpgroups() -> Vec<Case> {
    vec![
        product("half_wide", DType::BF16, &[72, 328], &[328, 216]),
        transposed("half_ring_transposed", DType::F16, [80, 264, 104]),
        product("half_ring_rows", DType::F16, &[3, 26, 72], &[72, 104]),
        product("half_ring_batch", DType::BF16, &[2, 72, 64], &[2, 64, 104]),
        apart("half_ring_apart", DType::F16),
    ]
}

/// Rows of two axes that lie in memory in another order than they have.
fn apart(name: &str, dtype: DType) -> Case {
    let mut m = Make::new(name);
    let (x, w) = (m.input(dtype, &fixed(&[26, 3, 72])), m.input(dtype, &fixed(&[72, 104])));
    let x = m.emit(Op::Transpose { perm: vec![1, 0, 2] }, &[x]);
    let y = m.emit(Op::MatMul, &[x, w]);
    m.done(&[y])
}

/// Each through the pipeline, where what is scheduled gives what the function says; tiles are large where `multiprocessors`
/// is 1.
fn prepared(device: Device, multiprocessors: &str) -> Vec<Prepared> {
    let mut context = crate::context(device);
    context.set_text("BindThreads.multiprocessors", multiprocessors).expect("a setting");
    let more = if device.has_warpgroups() { of_warpgroups() } else { of_strips() };
    let all = cases().into_iter().chain(more).map(|case| interpret::prepare_with(case, &context));
    all.collect::<Result<_, String>>().unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn warps_multiply_halves() {
    let backend = crate::backend();
    for (device, multiprocessors) in [(Device::Sm80, "0"), (Device::Sm90a, "1")] {
        let (mut large, mut copied, mut groups, mut boxes) = (0, 0, 0, 0);
        for case in prepared(device, multiprocessors) {
            let kernels: Vec<_> = case.module.prims().filter(|func| func.kind == FuncKind::Device).collect();
            assert!(!kernels.is_empty(), "{}: no kernel", case.name);
            let Some(backend) = &backend else { continue };
            let mut multiplied = 0;
            for func in kernels {
                let made = program::kernel(&case.module, func, device, backend);
                let (_, text) = made.unwrap_or_else(|why| panic!("{}: {}", case.name, why.message));
                copied += usize::from(text.contains("cp.async"));
                let by_group = text.contains("wgmma.mma_async");
                multiplied += usize::from(by_group || text.contains("mma.sync"));
                groups += usize::from(by_group);
                boxes += usize::from(by_group && text.contains("cp.async.bulk.tensor"));
                large += usize::from(text.contains(".reqntid 256"));
                in_registers(&case.name, device, &text);
            }
            assert_eq!(multiplied, 1, "{} for {device}", case.name);
        }
        assert!(
            backend.is_none() || (groups, boxes) == if device == Device::Sm90a { (6, 5) } else { (0, 0) },
            "{groups} products of warpgroups, {boxes} of boxes"
        );
        assert!(backend.is_none() || copied > boxes, "no chunk is copied as it lies");
        assert!(backend.is_none() || (large > 0) == (multiprocessors == "1"), "{large} large tiles");
    }
}

/// Elements of 4 bytes: tiles of both sizes, whole ones and with something left over, in both orders of each factor, a batch,
/// what follows on the sum, an image, terms that no step divides.
fn of_squares() -> Vec<Case> {
    vec![
        product("square_whole", DType::F32, &[128, 24], &[24, 128]),
        product("square_odd", DType::F32, &[131, 13], &[13, 67]),
        product("square_small", DType::I32, &[40, 20], &[20, 64]),
        product("square_heads", DType::F32, &[2, 1, 65, 8], &[3, 8, 66]),
        transposed("square_transposed", DType::F32, [72, 16, 80]),
        transposed("square_transposed_odd", DType::F32, [33, 19, 41]),
        convolution(DType::F32, 40),
    ]
}

/// Threads find both factors in loads of 16 bytes, and strict functions have these tiles, too.
#[test]
fn squares_of_threads_multiply_elements() {
    let backend = crate::backend();
    for (n, case) in of_squares().into_iter().enumerate() {
        let device = crate::CHIPS[n % 2];
        let mut context = crate::context(device);
        context.set_text("BindThreads.multiprocessors", "1").expect("a setting");
        context.strict = n % 3 == 0;
        let name = case.name.clone();
        let case = interpret::prepare_with(case, &context).unwrap_or_else(|why| panic!("{name}: {why}"));
        let Some(backend) = &backend else { continue };
        let kernels = case.module.prims().filter(|func| func.kind == FuncKind::Device);
        let texts: Vec<String> =
            kernels.map(|func| program::kernel(&case.module, func, device, backend).expect("PTX").1).collect();
        let wide: usize = texts.iter().map(|text| text.matches("ld.shared.v4.b32").count()).sum();
        assert!(wide >= 4, "{name} has {wide} loads of 16 bytes from shared memory");
        texts.iter().for_each(|text| in_registers(&name, device, text));
    }
}

/// Products of bytes are of four at once, as the instruction of words has them, for every pair of signs.
#[test]
fn words_multiply_bytes() {
    let cases = vec![
        bytes("bytes_whole", [DType::I8, DType::I8], &[12, 32], &[32, 33]),
        bytes("bytes_left", [DType::U8, DType::U8], &[2, 6, 21], &[2, 21, 40]),
        bytes("bytes_mixed", [DType::U8, DType::I8], &[70, 18], &[18, 9]),
        bytes("bytes_turned", [DType::I8, DType::U8], &[24, 30], &[30, 24]),
    ];
    let backend = crate::backend();
    for case in cases {
        let device = Device::Sm80;
        let case = interpret::prepare_with(case, &crate::context(device)).unwrap_or_else(|why| panic!("{why}"));
        let Some(backend) = &backend else { continue };
        for func in case.module.prims().filter(|func| func.kind == FuncKind::Device) {
            let (_, text) = program::kernel(&case.module, func, device, backend).expect("PTX");
            assert!(text.contains("dp4a."), "{}\n{text}", case.name);
            in_registers(&case.name, device, &text);
        }
    }
}

/// Weights lie in memory along the terms.
fn bytes_transposed(name: &str, dtypes: [DType; 2], [rows, terms, columns]: [i64; 3]) -> Case {
    let mut m = Make::new(name);
    let (x, w) = (m.input(dtypes[0], &fixed(&[rows, terms])), swapped(&mut m, dtypes[1], &[columns, terms]));
    let [x, w] = [x, w].map(|it| m.element(ElementOp::Cast(DType::I32), &[it]));
    let y = m.emit(Op::MatMul, &[x, w]);
    m.done(&[y])
}

/// Products of bytes by warps: for every pair of signs, in both tiles, with something left over, in strict functions too.
#[test]
fn warps_multiply_bytes() {
    let cases = vec![
        bytes("bytes_wide", [DType::I8, DType::I8], &[128, 64], &[64, 128]),
        bytes("bytes_heads", [DType::U8, DType::U8], &[2, 17, 50], &[2, 50, 40]),
        bytes("bytes_odd", [DType::U8, DType::I8], &[67, 35], &[35, 71]),
        bytes("bytes_swapped", [DType::I8, DType::U8], &[24, 160], &[160, 24]),
        bytes_transposed("bytes_copied", [DType::I8; 2], [72, 208, 80]),
        bytes_transposed("bytes_read", [DType::I8; 2], [33, 39, 21]),
    ];
    let backend = crate::backend();
    for (n, case) in cases.into_iter().enumerate() {
        let device = crate::CHIPS[n % 2];
        let mut context = crate::context(device);
        context.set_text("BindThreads.multiprocessors", "1").expect("a setting");
        context.strict = n % 3 == 0;
        let case = interpret::prepare_with(case, &context).unwrap_or_else(|why| panic!("{why}"));
        let Some(backend) = &backend else { continue };
        for func in case.module.prims().filter(|func| func.kind == FuncKind::Device) {
            let (_, text) = program::kernel(&case.module, func, device, backend).expect("PTX");
            assert!(text.contains("mma.sync.aligned.m16n8k32"), "{}\n{text}", case.name);
            in_registers(&case.name, device, &text);
        }
    }
}

/// Products of bytes by warpgroups: both factors in lines of terms, with something left over, in strict functions too.
#[test]
fn warpgroups_multiply_bytes() {
    let cases = vec![
        bytes_transposed("bytes_ring", [DType::I8, DType::I8], [72, 400, 104]),
        bytes_transposed("bytes_ring_wide", [DType::U8, DType::U8], [65, 144, 200]),
    ];
    let (backend, device) = (crate::backend(), Device::Sm90a);
    for (n, case) in cases.into_iter().enumerate() {
        let mut context = crate::context(device);
        context.set_text("BindThreads.multiprocessors", "1").expect("a setting");
        context.strict = n == 0;
        let case = interpret::prepare_with(case, &context).unwrap_or_else(|why| panic!("{why}"));
        let Some(backend) = &backend else { continue };
        for func in case.module.prims().filter(|func| func.kind == FuncKind::Device) {
            let (_, text) = program::kernel(&case.module, func, device, backend).expect("PTX");
            assert!(text.contains("k32.s32.") && text.contains("cp.async.bulk.tensor"), "{}\n{text}", case.name);
            in_registers(&case.name, device, &text);
        }
    }
}

/// The order of a strict function's sums is its text's.
#[test]
fn strict_functions_have_none() {
    let mut context = crate::context(Device::Sm80);
    context.strict = true;
    let Some(backend) = crate::backend() else { return };
    let case = product("half_strict", DType::BF16, &[64, 32], &[32, 64]);
    let case = interpret::prepare_with(case, &context).unwrap_or_else(|why| panic!("{why}"));
    for func in case.module.prims().filter(|func| func.kind == FuncKind::Device) {
        let (_, text) = program::kernel(&case.module, func, Device::Sm80, &backend).expect("PTX");
        assert!(!text.contains("mma.sync"), "{text}");
    }
}

/// On a GPU of NVIDIA's, with the code of each chip that it runs.
#[test]
fn products_run_through_cuda() {
    let gpu = match Cuda::new() {
        Ok(gpu) => gpu,
        // No machine of the tests has one, so none is required.
        Err(why) => return println!("skipped: {why}"),
    };
    let Some(backend) = crate::backend() else { return };
    let chips = if gpu.info().capability == (9, 0) { &crate::CHIPS[..] } else { &crate::CHIPS[..1] };
    for (device, multiprocessors) in chips.iter().flat_map(|device| [(device, "0"), (device, "1")]) {
        for case in prepared(*device, multiprocessors) {
            let refused = crate::program::call(&gpu, &case, *device, &backend);
            assert_eq!(refused, Ok(None), "{} for {device}", case.name);
        }
    }
}
