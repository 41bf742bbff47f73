//! Operators, some in a kernel, over values at which they go wrong.

use tenfold_core::pass::{self, PassContext};
use tenfold_core::spirv::Kernel;
use tenfold_core::{Target, spirv};
use tenfold_ir::arith::IntExpr;
use tenfold_ir::eval::Bounded;
use tenfold_ir::op::{BinaryOp, CmpOp, UnaryOp};
use tenfold_ir::tir::{
    self, Access, Arg, BufUse, Builder, ExprId, FuncKind, Intrinsic, LoopKind, Phase, PrimFunc, Stmt, ThreadAxis,
};
use tenfold_ir::{DType, Function, Module, Scalar};
use tenfold_tests::tools;

use crate::data::{special, telling};
use crate::device::Device;

const THREADS: usize = 64;

/// What a kernel computes of each element.
#[derive(Clone, Copy, Debug)]
enum Act {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Compare(CmpOp),
    Cast(DType),
    Fma,
}

impl Act {
    fn of(self, b: &mut Builder, x: &[ExprId]) -> ExprId {
        match self {
            Act::Unary(op) => b.unary(op, x[0]),
            Act::Binary(op) => b.binary(op, x[0], x[1]),
            Act::Compare(op) => b.compare(op, x[0], x[1]),
            Act::Cast(to) => b.cast(to, x[0]),
            Act::Fma => {
                let ty = b.ty(x[0]);
                b.call(Intrinsic::Fma, vec![x[0], x[1], x[0]], ty)
            }
        }
    }
}

/// Results of one kernel: a pipeline takes much longer to make than to run.
const RESULTS: usize = 6;

/// The kernel that does some acts with each element of the inputs, one result each.
fn kernel(inputs: &[Vec<Scalar>], acts: &[Act]) -> Module {
    let count = inputs[0].len();
    let mut b = Builder::new("kernel");
    let shape = || vec![IntExpr::from(count as i64)];
    let from: Vec<_> = inputs.iter().map(|c| b.buffer_param("x", c[0].dtype, shape(), BufUse::In)).collect();
    let (g, t) = (b.index_var("g"), b.index_var("t"));
    let (group, thread, threads) = (b.read(g), b.read(t), b.index(THREADS as i64));
    let at = b.mul(group, threads);
    let at = b.add(at, thread);
    let values: Vec<ExprId> = from.iter().map(|x| b.load(*x, vec![at], Access::Proven)).collect();
    let stores = acts.iter().map(|act| {
        let value = act.of(&mut b, &values);
        let tir::Elem::Scalar(dtype) = b.ty(value).elem else { panic!("{act:?}: an index") };
        let buf = b.buffer_param("y", dtype, shape(), BufUse::InOut);
        Stmt::Store { buf, index: vec![at], value, access: Access::Proven }
    });
    let stores = Stmt::seq(stores.collect::<Vec<_>>());
    let (zero, groups) = (b.index(0), b.index((count / THREADS) as i64));
    let inner = Stmt::loop_(t, zero, threads, LoopKind::ThreadBound(ThreadAxis::Thread(0)), stores);
    let outer = Stmt::loop_(g, zero, groups, LoopKind::ThreadBound(ThreadAxis::Block(0)), inner);
    b.push(outer);
    let func = PrimFunc { kind: FuncKind::Device, phase: Phase::Flat, ..b.finish() };
    let mut module = Module::default();
    module.functions.insert("kernel".into(), Function::Prim(func));
    module
}

/// The acts that are refused; what the device makes of the others must be what the interpreter admits.
fn check(device: &Device, inputs: &[Vec<Scalar>], acts: &[Act]) -> Result<Vec<Act>, String> {
    let mut module = kernel(inputs, acts);
    let func = module.prim("kernel").ok_or("no kernel")?.clone();
    let dtypes: Vec<DType> = func.buffers[inputs.len()..].iter().map(|data| data.dtype).collect();
    let (count, cells) = (inputs[0].len(), |c: &Vec<Scalar>| c.iter().map(|s| Some(Bounded::exact(*s))).collect());
    let mut args: Vec<Arg> = inputs.iter().map(|c| Arg::Buffer(cells(c))).collect();
    args.extend(dtypes.iter().map(|d| Arg::Buffer(vec![Some(Bounded::exact(Scalar::least(*d))); count])));
    tir::eval(&module, &func, &mut args)?;
    let context = PassContext::new(Target::host());
    for name in ["FP8ComputeLegalize", "LowerMath", "BF16ComputeLegalize"] {
        let pass = pass::get(name).map_err(|e| e.message)?;
        pass::run_pass(&pass, &mut module, &context).map_err(|e| e.message)?;
    }
    let kernel = match spirv::kernels_for(&module, module.prim("kernel").ok_or("no kernel")?, &[]) {
        Ok(kernel) => kernel,
        Err(_) if acts.len() == 1 => return Ok(acts.to_vec()),
        Err(_) => {
            let each = acts.iter().map(|act| check(device, inputs, &[*act]));
            return Ok(each.collect::<Result<Vec<_>, _>>()?.concat());
        }
    };
    let bytes = |c: &Vec<Scalar>| c.iter().flat_map(|s| s.to_le_bytes()).collect::<Vec<u8>>();
    let mut bindings: Vec<Vec<u8>> = inputs.iter().map(bytes).collect();
    bindings.extend(dtypes.iter().map(|d| vec![0; count * d.size_bytes()]));
    for kernel in taken(device, &kernel) {
        let mut bindings = bindings.clone();
        device.run(kernel, &mut bindings, &[], [(count / THREADS) as u32, 1, 1])?;
        for (n, act) in acts.iter().enumerate() {
            let Arg::Buffer(expected) = &args[inputs.len() + n] else { return Err("no result".into()) };
            let found = admitted(inputs, expected, dtypes[n], &bindings[inputs.len() + n]);
            found.map_err(|e| format!("{act:?} {e}, by a shader that needs {:?}", kernel.features))?;
        }
    }
    Ok(Vec::new())
}

/// The shader that the device takes, and the one that any device takes.
fn taken<'k>(device: &Device, kernel: &'k Kernel) -> Vec<&'k Kernel> {
    let chain = std::iter::successors(Some(kernel), |kernel| kernel.instead.as_deref());
    let all: Vec<&Kernel> = chain.filter(|kernel| device.promises(kernel)).collect();
    match all[..] {
        [first, .., last] => vec![first, last],
        _ => all,
    }
}

fn admitted(inputs: &[Vec<Scalar>], expected: &[Option<Bounded>], dtype: DType, bytes: &[u8]) -> Result<(), String> {
    for (n, (expected, found)) in expected.iter().zip(bytes.chunks(dtype.size_bytes())).enumerate() {
        let (Some(expected), found) = (expected, Scalar::from_le_bytes(dtype, found)) else { continue };
        if !expected.admits(found) {
            let of: Vec<String> = inputs.iter().map(|c| show(c[n])).collect();
            let (value, error) = (show(expected.value), expected.error);
            return Err(format!("of {}: expected {value} within {error:e}, found {}", of.join(", "), show(found)));
        }
    }
    Ok(())
}

fn show(s: Scalar) -> String {
    if s.dtype.is_float() { format!("{:?} ({:#x})", s.to_f64(), s.bits) } else { s.to_i128().to_string() }
}

/// Values that every device computes with: Vulkan may take the least floats for 0.
fn values(all: Vec<Scalar>) -> Vec<Scalar> {
    let least = |s: &Scalar| match s.dtype {
        DType::F64 => f64::MIN_POSITIVE,
        DType::F16 => 0.0,
        _ => f64::from(f32::MIN_POSITIVE),
    };
    let tiny = |s: &Scalar| s.dtype.is_float() && s.to_f64() != 0.0 && s.to_f64().abs() < least(s);
    all.into_iter().filter(|s| !tiny(s)).collect()
}

fn pairs(dtype: DType) -> Vec<Vec<Scalar>> {
    let all = values(telling(dtype));
    let left = all.iter().flat_map(|a| all.iter().map(|_| *a)).collect();
    let right = all.iter().flat_map(|_| all.iter().copied()).collect();
    vec![left, right]
}

/// Runs acts, and gives those that are refused, by their dtype.
fn run(all: Vec<(Vec<Vec<Scalar>>, Vec<Act>)>) -> Vec<String> {
    let device = match Device::first() {
        Ok(device) => device,
        Err(e) => {
            tools::skip(&format!("a Vulkan device ({e})"), "tests/vulkan.sh installs one");
            return Vec::new();
        }
    };
    let (mut errors, mut refused) = (Vec::new(), Vec::new());
    for (mut inputs, acts) in all {
        let (dtype, count) = (inputs[0][0].dtype.name(), inputs[0].len().next_multiple_of(THREADS));
        for cells in &mut inputs {
            let last = cells[0];
            cells.resize(count, last);
        }
        for acts in acts.chunks(RESULTS) {
            match check(&device, &inputs, acts) {
                Ok(without) => refused.extend(without.iter().map(|act| format!("{act:?} of {dtype}"))),
                Err(e) => errors.push(format!("of {dtype}: {e}")),
            }
        }
    }
    assert!(errors.is_empty(), "{} mistakes\n{}", errors.len(), errors.join("\n"));
    refused
}

const INTEGERS: [DType; 8] =
    [DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64];
const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

/// Functions of one operand; those that `LowerMath` expands in f32 for every other dtype too.
#[test]
fn unary() {
    let here = [
        UnaryOp::Neg,
        UnaryOp::Abs,
        UnaryOp::Sign,
        UnaryOp::Floor,
        UnaryOp::Ceil,
        UnaryOp::Round,
        UnaryOp::Trunc,
        UnaryOp::Sqrt,
        UnaryOp::IsNan,
        UnaryOp::IsInf,
        UnaryOp::IsFinite,
        UnaryOp::Exp,
    ];
    let float = |dtype: DType, op: &UnaryOp| *op != UnaryOp::Not && (dtype == DType::F32 || here.contains(op));
    let mut all = Vec::new();
    for dtype in FLOATS {
        let acts = UnaryOp::ALL.iter().filter(|op| float(dtype, op)).map(|op| Act::Unary(*op)).collect();
        all.push((vec![values(special(dtype))], acts));
    }
    for dtype in INTEGERS {
        let acts = [UnaryOp::Neg, UnaryOp::Not, UnaryOp::Abs, UnaryOp::Sign].map(Act::Unary).to_vec();
        all.push((vec![values(special(dtype))], acts));
    }
    all.push((vec![special(DType::Bool)], vec![Act::Unary(UnaryOp::Not)]));
    assert_eq!(run(all), Vec::<String>::new());
}

#[test]
fn binary() {
    use BinaryOp::{And, Atan2, Or, Pow, Shl, Shr, Xor};
    let mut all = Vec::new();
    for dtype in FLOATS.into_iter().chain(INTEGERS) {
        let float = dtype.is_float();
        // Made of loops or of f64, and of nothing that another dtype does not have.
        let is_long = |op| op == Pow && ![DType::F32, DType::I32].contains(&dtype);
        let foreign = |op| float && matches!(op, And | Or | Xor | Shl | Shr) || !float && op == Atan2;
        let ops = BinaryOp::ALL.iter().copied().filter(|op| !is_long(*op) && !foreign(*op));
        let mut acts: Vec<Act> = ops.map(Act::Binary).collect();
        acts.extend(CmpOp::ALL.iter().map(|op| Act::Compare(*op)));
        acts.extend(float.then_some(Act::Fma));
        all.push((pairs(dtype), acts));
    }
    all.push((pairs(DType::Bool), [And, Or, Xor].map(Act::Binary).to_vec()));
    let refused = run(all);
    assert!(refused.is_empty() || refused == ["Fma of f64"], "{refused:?}");
}

#[test]
fn conversions() {
    let all: Vec<DType> = FLOATS.into_iter().chain(INTEGERS).chain([DType::Bool]).collect();
    let of = |from: &DType| {
        let acts = all.iter().filter(|to| *to != from).map(|to| Act::Cast(*to)).collect();
        (vec![values(special(*from))], acts)
    };
    assert_eq!(run(all.iter().map(of).collect()), Vec::<String>::new());
}
