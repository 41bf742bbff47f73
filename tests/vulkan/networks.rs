//! Functions of several operators through the pipeline for devices: the interpreter of tir calls the host's part, the
//! device runs the kernels.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tenfold_core::Device as Target;
use tenfold_core::pass::PassContext;
use tenfold_core::spirv::{self, Kernel, Source};
use tenfold_ir::arith::IntExpr;
use tenfold_ir::eval::Bounded;
use tenfold_ir::tir::{
    self, Access, Arg, BufId, BufUse, CallArg, FuncKind, Launch, LoopKind, Param, PrimFunc, Scope, Stmt,
};
use tenfold_ir::{ConstBytes, DType, Function, Module, Scalar};
use tenfold_tests::tools;

use crate::case::Case;
use crate::device::Device;
use crate::interpret::{self, Actual, Prepared};

/// The kernels of a module by name, or the first refusal.
fn kernels(module: &Module) -> Result<BTreeMap<String, Kernel>, String> {
    let devices = module.prims().filter(|f| f.kind == FuncKind::Device);
    devices.map(|f| Ok((f.name.clone(), spirv::kernel(module, f).map_err(|e| e.to_string())?))).collect()
}

/// The module with functions outside in place of kernels, which take the numbers of groups behind their parameters.
fn outside(module: &Module) -> Module {
    let mut out = module.clone();
    for func in module.prims() {
        let mut func = func.clone();
        if func.kind == FuncKind::Device {
            let declared = PrimFunc::outside(&func.name);
            let mut b = tir::Builder::resume(PrimFunc { kind: FuncKind::Host, ..func.clone() });
            for axis in ["x", "y", "z"] {
                let var = b.index_var(axis);
                b.func_mut().params.push(Param::Value(var));
            }
            let mut made = b.finish();
            made.buffers.iter_mut().for_each(|data| data.shape.clear());
            let body = Stmt::Seq(Vec::new());
            let (name, kind) = (declared.name.clone(), declared.kind);
            out.functions.remove(&func.name);
            out.functions
                .insert(name.clone(), Function::Prim(PrimFunc { name, kind, body, facts: Vec::new(), ..made }));
            continue;
        }
        // Kernels write parts of results.
        for param in &mut func.params {
            if let Param::Buffer(_, usage @ BufUse::Out) = param {
                *usage = BufUse::InOut;
            }
        }
        let mut b = tir::Builder::resume(func);
        let body = std::mem::replace(&mut b.func_mut().body, Stmt::nop());
        let body = body.map(&mut |s| called(module, &mut b, s));
        b.push(body);
        let func = b.finish();
        out.functions.insert(func.name.clone(), Function::Prim(func));
    }
    out
}

/// A call of a kernel as one of a function outside; before a call of the host, results of it in the workspace hold 0.
fn called(module: &Module, b: &mut tir::Builder, stmt: Stmt) -> Stmt {
    match stmt {
        Stmt::Call { func, mut args, launch: Some(Launch::Grid { grid, .. }) } => {
            args.extend(grid.map(CallArg::Value));
            Stmt::Call { func: format!("extern${func}"), args, launch: None }
        }
        Stmt::Call { func, args, launch: None } => {
            let params = module.prim(&func).map(|f| f.params.clone()).unwrap_or_default();
            let mut all = Vec::new();
            for (param, arg) in params.iter().zip(&args) {
                if let (Param::Buffer(_, BufUse::Out), CallArg::Buffer(buf)) = (param, arg)
                    && b.buf(*buf).scope == Scope::Workspace
                {
                    all.push(zeros(b, *buf));
                }
            }
            all.push(Stmt::Call { func, args, launch: None });
            Stmt::seq(all)
        }
        other => other,
    }
}

fn zeros(b: &mut tir::Builder, buf: BufId) -> Stmt {
    let data = b.buf(buf).clone();
    let size = data.shape.iter().fold(IntExpr::from(1), |n, d| &n * d);
    let (count, zero, value) = (b.int_expr(&size), b.index(0), b.scalar(Scalar::zero(data.dtype)));
    let var = b.index_var("i");
    let store = Stmt::Store { buf, index: vec![b.read(var)], value, access: Access::Unchecked };
    Stmt::loop_(var, zero, count, LoopKind::Serial, store)
}

fn bytes_of(cells: &[Option<Bounded>], dtype: DType) -> Vec<u8> {
    let zero = Scalar::zero(dtype);
    cells.iter().flat_map(|c| c.map_or(zero, |b| b.value).to_le_bytes()).collect()
}

/// Runs a kernel on what its call has.
fn launch(device: &Device, module: &Module, kernel: &Kernel, args: &mut [Arg]) -> Result<(), String> {
    let func = module.prim(&kernel.name).ok_or("no kernel")?;
    let mut bindings = Vec::new();
    for binding in &kernel.bindings {
        bindings.push(match &binding.source {
            Source::Param(n) => match &args[*n] {
                Arg::Buffer(cells) => bytes_of(cells, binding.dtype),
                _ => return Err("a buffer is none".into()),
            },
            Source::Constant(hash) => {
                let constant = module.constants.iter().find(|c| c.hash == *hash).ok_or("no constant")?;
                match &constant.bytes {
                    ConstBytes::Inline(bytes) => bytes.to_vec(),
                    _ => return Err("a constant elsewhere".into()),
                }
            }
        });
    }
    let mut push = Vec::new();
    for value in &kernel.push {
        let Arg::Value(given) = &args[value.param] else { return Err("a value is none".into()) };
        let mut slot = match value.dtype {
            dtype if dtype.is_float() => given.value.to_le_bytes().to_vec(),
            _ => (given.value.to_i128() as i64).to_le_bytes().to_vec(),
        };
        slot.resize(8, 0);
        push.extend(slot);
    }
    let groups: Vec<u32> = args[func.params.len()..]
        .iter()
        .map(|a| match a {
            Arg::Value(n) => n.value.to_i128() as u32,
            _ => 0,
        })
        .collect();
    device.run(kernel, &mut bindings, &push, [groups[0], groups[1], groups[2]])?;
    for (binding, bytes) in kernel.bindings.iter().zip(&bindings) {
        if let (true, Source::Param(n)) = (binding.write, &binding.source) {
            let size = binding.dtype.size_bytes();
            let cells = bytes.chunks(size).map(|b| Some(Bounded::exact(Scalar::from_le_bytes(binding.dtype, b))));
            args[*n] = Arg::Buffer(cells.collect());
        }
    }
    Ok(())
}

/// Calls a prepared case on the device: `Ok(false)` where a kernel is refused.
fn call(device: &Device, case: &Prepared) -> Result<Option<String>, String> {
    let kernels = match kernels(&case.module) {
        Ok(kernels) => kernels,
        Err(refused) => return Ok(Some(refused)),
    };
    with(device, case, &kernels)?;
    if kernels.values().all(|kernel| kernel.instead.is_none()) {
        return Ok(None);
    }
    let plain = |kernel: Kernel| kernel.instead.map_or(Kernel { instead: None, ..kernel }, |instead| *instead);
    let plain = kernels.into_iter().map(|(name, kernel)| (name, plain(kernel))).collect();
    with(device, case, &plain).map_err(|e| format!("without what devices may lack: {e}"))?;
    Ok(None)
}

/// Calls a prepared case with these kernels.
fn with(device: &Device, case: &Prepared, kernels: &BTreeMap<String, Kernel>) -> Result<(), String> {
    let module = outside(&case.module);
    let entry = module.prim(&case.name).ok_or("no entry")?;
    let mut args: Vec<Arg> = case
        .actual
        .iter()
        .map(|a| match a {
            // Kernels write into results, so these hold something.
            Actual::Buffer { dtype, cells, .. } => {
                let zero = Scalar::zero(*dtype);
                Arg::Buffer(cells.iter().map(|c| Some(Bounded::exact(c.unwrap_or(zero)))).collect())
            }
            Actual::Scalar(value) => Arg::Value(Bounded::exact(*value)),
            Actual::Index(value) => Arg::Value(Bounded::index(*value)),
            Actual::Workspace(bytes) => Arg::Workspace(*bytes),
        })
        .collect();
    let failed = RefCell::new(None);
    let run = |name: &str, args: &mut [Arg]| {
        let kernel = kernels.get(name).ok_or_else(|| format!("`{name}` is no kernel"))?;
        launch(device, &case.module, kernel, args).inspect_err(|e| *failed.borrow_mut() = Some(e.clone()))
    };
    tir::eval_with(&module, entry, &mut args, &run)?;
    for (arg, expected) in &case.expected {
        let Arg::Buffer(found) = &args[*arg] else { continue };
        for (n, (expected, found)) in expected.iter().zip(found).enumerate() {
            interpret::check(*arg, n, *expected, found.map(|b| b.value))?;
        }
    }
    Ok(())
}

/// Runs cases; gives what was refused.
pub(crate) fn run(cases: Vec<Case>) -> Vec<String> {
    run_each(cases, &|_| Ok(()))
}

/// The same, with something asked of what each becomes.
pub(crate) fn run_each(cases: Vec<Case>, asked: &dyn Fn(&Prepared) -> Result<(), String>) -> Vec<String> {
    let device = match Device::first() {
        Ok(device) => device,
        Err(e) => {
            tools::skip(&format!("a Vulkan device ({e})"), "tests/vulkan.sh installs one");
            return Vec::new();
        }
    };
    let mut context = PassContext::new(Target::Spirv.target());
    context.set_text("NarrowDataType.everywhere", "true").expect("a setting");
    let (mut errors, mut refused, count) = (Vec::new(), Vec::new(), cases.len());
    for case in cases {
        let name = case.name.clone();
        let result = interpret::prepare_with(case, &context);
        let result = result.and_then(|case| asked(&case).and_then(|()| call(&device, &case)));
        match result {
            Ok(None) => {}
            Ok(Some(why)) => refused.push(format!("{name}: {why}")),
            Err(e) => errors.push(format!("{name}: {e}")),
        }
    }
    let first: Vec<&String> = errors.iter().take(50).collect();
    assert!(errors.is_empty(), "{} of {count}\n{first:#?}", errors.len());
    refused
}

/// Products, reductions, rows and what moves elements, of some dtypes; with dims that are known at a call too.
#[test]
fn networks() {
    let chosen = [
        "matmul_f32",
        "reduce_sum_f32",
        "reduce_max_i32",
        "arg_f32",
        "conv_f32",
        "pool_i8",
        "layouts_u16",
        "rows_f32",
        "rows_f16",
        "symbolic",
    ];
    let all = std::env::var_os("TENFOLD_ALL").is_some();
    let cases: Vec<Case> = crate::nn::cases().into_iter().filter(|c| all || chosen.contains(&&*c.name)).collect();
    assert!(cases.len() >= chosen.len(), "a case is gone");
    assert_eq!(run(cases), Vec::<String>::new());
}
