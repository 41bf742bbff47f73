//! The kernels of a function, each taken out of it into a module of its own that calls it once.
//!
//! A kernel is taken as it is when its constants are about to be laid out and its schedule is about to be chosen. From
//! there on its module goes through the same passes as in the function, so what is found for it holds there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tenfold_ir::relax::{
    self, Binding, BindingBlock, BlockKind, Op, Param, ParamKind, Phase, TensorType, Type, ValueData, ValueId,
};
use tenfold_ir::tir::{self, PrimFunc, Scope};
use tenfold_ir::{ConstId, Function, Loc, Module};

use crate::pass::{self, PassContext, UserPass};
use crate::target::Target;
use crate::{CompileError, pipeline};

/// The pass that a kernel's module begins with.
pub(crate) const BEGIN: &str = "PrepackWeights";

/// The function that calls the kernel.
const ENTRY: &str = "tuned";

/// A kernel by itself.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name in its function's module.
    pub name: String,
    /// How often the function calls it, loops counting once.
    pub calls: u64,
    /// What calls it.
    pub module: Module,
    /// What it is tuned for.
    pub target: Target,
    /// The target whose tiles constants are laid out for; none is its own.
    pub layout: Option<Target>,
    /// Whether its function keeps the order of floats.
    pub strict: bool,
    /// Settings of passes, as the environment would say them.
    pub settings: Vec<(String, String)>,
}

/// How a function is compiled whose kernels are looked for.
#[derive(Clone, Debug, Default)]
pub struct How {
    /// The target whose tiles constants are laid out for; none is the context's.
    pub layout: Option<Target>,
    /// `numerics = "strict"`.
    pub strict: bool,
    /// The user's passes.
    pub passes: Vec<UserPass>,
    /// Settings of passes that the environment does not have, as it would say them.
    pub settings: Vec<(String, String)>,
}

/// The kernels of a function that can be tuned, in the order of their names, and of the others why they cannot.
///
/// # Errors
/// Those of the passes before schedules.
pub fn kernels(
    mut module: Module,
    context: &PassContext,
    how: &How,
) -> Result<(Vec<Kernel>, Vec<String>), CompileError> {
    let passes = pipeline::with(&how.passes);
    let (first, _) = pipeline::split_before(BEGIN, &passes);
    let target = how.layout.as_ref().unwrap_or(&context.target);
    let first_context = context.with_target(target.clone()).with_strict(how.strict);
    pass::run(first, &mut module, &first_context)?;
    let mut found: BTreeMap<&str, (u64, Result<Module, String>)> = BTreeMap::new();
    let graphs = module.functions.values().filter_map(|function| match function {
        Function::Relax(func) => Some(func),
        Function::Prim(_) => None,
    });
    for func in graphs {
        let constants: BTreeMap<ValueId, ConstId> = func.bindings().filter_map(constant).collect();
        for binding in func.bindings() {
            let Op::CallTir { func: callee, .. } = &binding.op else { continue };
            let alone = || alone(&module, func, binding, &constants);
            found.entry(callee).or_insert_with(|| (0, alone())).0 += 1;
        }
    }
    let (mut kernels, mut others) = (Vec::new(), Vec::new());
    for (name, (calls, alone)) in found {
        match alone {
            Ok(module) => kernels.push(Kernel {
                name: name.into(),
                calls,
                module,
                target: context.target.clone(),
                layout: how.layout.clone(),
                strict: how.strict,
                settings: how.settings.clone(),
            }),
            Err(why) => others.push(format!("`{name}` is not tuned: {why}")),
        }
    }
    Ok((kernels, others))
}

fn constant(binding: &Binding) -> Option<(ValueId, ConstId)> {
    match binding.op {
        Op::Const(id) => Some((binding.out, id)),
        _ => None,
    }
}

/// A module whose entry makes one call; or why there is none.
fn alone(
    module: &Module,
    func: &relax::Function,
    call: &Binding,
    constants: &BTreeMap<ValueId, ConstId>,
) -> Result<Module, String> {
    let Op::CallTir { func: callee, syms, results, in_place } = &call.op else {
        return Err("it is called otherwise".into());
    };
    let kernel = module.prim(callee).ok_or("it has no body")?;
    if kernel.phase != tir::Phase::Blocks || kernel.exported || kernel.skip_optimization {
        return Err("its schedule is its own".into());
    }
    if in_place.iter().any(Option::is_some) {
        return Err("it updates an operand".into());
    }
    let types = call.args.iter().map(|arg| tensor(func, *arg)).collect::<Option<Vec<&TensorType>>>();
    let types = types.ok_or("it takes what is no tensor")?;
    let fixed = |ty: &TensorType| ty.shape.iter().all(|d| d.as_const().is_some());
    if !syms.is_empty() || !types.iter().all(|ty| fixed(ty)) || !results.iter().all(fixed) {
        return Err("its extents are no numbers".into());
    }
    let mut made = Module { entry: ENTRY.into(), sources: vec![ENTRY.into()], ..Module::default() };
    let prim = with_constants(module, &mut made, kernel);
    let mut caller = Caller { func: empty(), bindings: Vec::new() };
    let mut args: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    for (arg, ty) in call.args.iter().zip(types) {
        if !args.contains_key(arg) {
            let id = constants.get(arg).map(|id| made.add_constant(module.constant(*id).clone()));
            args.insert(*arg, caller.operand(ty, id));
        }
    }
    let own = call.args.iter().map(|arg| args[arg]).collect();
    caller.call(call.op.clone(), own, results);
    made.functions.insert(callee.clone(), Function::Prim(prim));
    made.functions.insert(ENTRY.into(), Function::Relax(caller.finish()));
    Ok(made)
}

fn tensor(func: &relax::Function, value: ValueId) -> Option<&TensorType> {
    match &func.values[value.0 as usize].ty {
        Type::Tensor(ty) => Some(ty),
        Type::Tuple(_) | Type::Shape(_) => None,
    }
}

/// A kernel with the constants that it holds in another module.
fn with_constants(from: &Module, to: &mut Module, kernel: &PrimFunc) -> PrimFunc {
    let mut kernel = kernel.clone();
    for buffer in &mut kernel.buffers {
        if let Scope::Const(id) = buffer.scope {
            buffer.scope = Scope::Const(to.add_constant(from.constant(id).clone()));
        }
    }
    kernel
}

fn empty() -> relax::Function {
    let mut func = relax::Builder::new(ENTRY).function().clone();
    func.phase = Phase::Legalised;
    func
}

/// The function that calls a kernel, in the making.
struct Caller {
    func: relax::Function,
    bindings: Vec<Binding>,
}

impl Caller {
    fn value(&mut self, ty: Type) -> ValueId {
        self.func.values.push(ValueData { ty, name: "v".into(), loc: Loc::default(), range: None });
        ValueId(self.func.values.len() as u32 - 1)
    }

    /// A constant, or a parameter.
    fn operand(&mut self, ty: &TensorType, constant: Option<ConstId>) -> ValueId {
        let value = self.value(Type::Tensor(ty.clone()));
        match constant {
            Some(id) => self.bindings.push(Binding::new(value, Op::Const(id), Vec::new())),
            None => {
                let position = self.func.params.len();
                self.func.params.push(Param { value, kind: ParamKind::Input, position });
            }
        }
        value
    }

    /// The call, all of whose results the function returns.
    fn call(&mut self, op: Op, args: Vec<ValueId>, results: &[TensorType]) {
        if let [one] = results {
            let value = self.value(Type::Tensor(one.clone()));
            self.bindings.push(Binding::new(value, op, args));
            self.func.results.push(value);
            return;
        }
        let all = self.value(Type::Tuple(results.iter().cloned().map(Type::Tensor).collect()));
        self.bindings.push(Binding::new(all, op, args));
        for (n, ty) in results.iter().enumerate() {
            let value = self.value(Type::Tensor(ty.clone()));
            self.bindings.push(Binding::new(value, Op::TupleGet(n), vec![all]));
            self.func.results.push(value);
        }
    }

    fn finish(mut self) -> relax::Function {
        self.func.blocks.push(BindingBlock { kind: BlockKind::Dataflow, bindings: self.bindings });
        self.func
    }
}

/// The files of a kernel in a folder: its module, the bytes of its constants, and the rest.
const FILES: [&str; 3] = ["module.txt", "constants.bin", "kernel.txt"];

impl Kernel {
    /// The types of what its entry takes and gives.
    pub(super) fn types(&self) -> Option<(Vec<TensorType>, Vec<TensorType>)> {
        let func = self.module.relax(&self.module.entry)?;
        let all =
            |values: Vec<ValueId>| values.into_iter().map(|v| tensor(func, v).cloned()).collect::<Option<Vec<_>>>();
        Some((all(func.params.iter().map(|p| p.value).collect())?, all(func.results.clone())?))
    }

    /// A context to compile it with.
    ///
    /// # Errors
    /// Settings that there are not.
    pub fn context(&self, env: &dyn Fn(&str) -> Option<String>) -> Result<PassContext, CompileError> {
        let mut context = PassContext::new(self.target.clone());
        self.settings.iter().try_for_each(|(variable, value)| context.apply(variable, value))?;
        context.follow(env)?;
        Ok(context)
    }

    /// Writes it into a folder.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let (text, constants) = tenfold_ir::module_text(&self.module);
        let [module, bytes, rest] = FILES.map(|name| folder.join(name));
        fs::write(module, text)?;
        fs::write(bytes, constants)?;
        fs::write(rest, self.about())
    }

    fn about(&self) -> String {
        let mut lines = vec![format!("name {}", self.name), format!("calls {}", self.calls)];
        lines.push(format!("target {} {}", self.target.triple, self.target.features.join(",")));
        lines.extend(self.layout.as_ref().map(|t| format!("layout {} {}", t.triple, t.features.join(","))));
        lines.extend(self.strict.then(|| "strict".to_string()));
        lines.extend(self.settings.iter().map(|(variable, value)| format!("set {variable}={value}")));
        lines.join("\n") + "\n"
    }

    /// Reads one that was written.
    ///
    /// # Errors
    /// Files that are not there, or that are no kernel's.
    pub fn read(folder: &Path) -> Result<Kernel, String> {
        let [module, bytes, rest] = FILES.map(|name| folder.join(name));
        let unread = |path: &Path, e: io::Error| format!("`{}` cannot be read: {e}", path.display());
        let text = fs::read_to_string(&module).map_err(|e| unread(&module, e))?;
        let constants = fs::read(&bytes).map_err(|e| unread(&bytes, e))?;
        let about = fs::read_to_string(&rest).map_err(|e| unread(&rest, e))?;
        let parsed = tenfold_ir::parse_module(&text, &constants);
        let mut kernel = Kernel {
            name: String::new(),
            calls: 0,
            module: parsed.map_err(|e| format!("`{}`: {e}", module.display()))?,
            target: Target::host(),
            layout: None,
            strict: false,
            settings: Vec::new(),
        };
        let wrong = |line: &str| format!("`{}` has a line `{line}`", rest.display());
        about.lines().try_for_each(|line| kernel.line(line).ok_or_else(|| wrong(line)))?;
        Ok(kernel)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let (word, value) = line.split_once(' ').unwrap_or((line, ""));
        let target = || {
            let (triple, features) = value.split_once(' ')?;
            Some(Target::from_triple(triple, &features.split(',').collect::<Vec<_>>()))
        };
        match word {
            "name" => self.name = value.into(),
            "calls" => self.calls = value.parse().ok()?,
            "target" => self.target = target()?,
            "layout" => self.layout = Some(target()?),
            "strict" => self.strict = true,
            "set" => {
                let (variable, value) = value.split_once('=')?;
                self.settings.push((variable.into(), value.into()));
            }
            _ => return None,
        }
        Some(())
    }
}

/// Writes kernels into folders of a folder: `0`, `1`, …. A line for each, `kernel FOLDER`, and for each of the
/// others, `other REASON`.
///
/// # Errors
/// What the file system says.
pub fn write_all(kernels: &[Kernel], others: &[String], folder: &Path) -> Result<String, String> {
    let mut text = String::new();
    for (n, kernel) in kernels.iter().enumerate() {
        let own = folder.join(n.to_string());
        kernel.write(&own).map_err(|e| format!("`{}` cannot be written: {e}", own.display()))?;
        text += &format!("kernel {}\n", own.display());
    }
    others.iter().for_each(|why| text += &format!("other {why}\n"));
    Ok(text)
}

/// A kernel and its folder.
pub type Written = (Kernel, PathBuf);

/// Reads what [`write_all`] has written: kernels with their folders, and why the others are not tuned.
///
/// # Errors
/// Files that are not there, or that are no kernels'.
pub fn read_all(text: &str) -> Result<(Vec<Written>, Vec<String>), String> {
    let (mut kernels, mut others) = (Vec::new(), Vec::new());
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("kernel", folder)) => kernels.push((Kernel::read(Path::new(folder))?, folder.into())),
            Some(("other", why)) => others.push(why.into()),
            Some(_) | None => return Err(format!("expected `kernel FOLDER` or `other REASON`, found `{line}`")),
        }
    }
    Ok((kernels, others))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_come_back() {
        let folder = std::env::temp_dir().join(format!("tenfold-kernels-{}", std::process::id()));
        let text = "prim @k(in a: f32[4], out y: f32[4]) phase blocks at 0:0 {\n  for i_l in 0 +: 4 serial {\n    \
                    block y {\n      spatial i in 4 = i_l\n      do {\n        y[i] = a[i]\n      }\n    }\n  }\n}\n";
        let kernel = Kernel {
            name: "k".into(),
            calls: 3,
            module: tenfold_ir::parse_module(text, &[]).expect("it parses"),
            target: Target::from_triple("x86_64-unknown-linux-gnu", &["avx", "avx2"]),
            layout: Some(Target::from_triple("x86_64-unknown-linux-gnu", &["avx512f"])),
            strict: true,
            settings: vec![("TENFOLD_CONFIG".into(), "A.b=c d".into())],
        };
        let said = write_all(std::slice::from_ref(&kernel), &["`f` is not tuned: so".into()], &folder);
        let (read, others) = read_all(&said.expect("it is written")).expect("it is read");
        let (found, _) = &read[0];
        assert_eq!(found.about(), kernel.about());
        assert_eq!(tenfold_ir::module_text(&found.module), tenfold_ir::module_text(&kernel.module));
        assert_eq!(others, ["`f` is not tuned: so"]);
        fs::remove_dir_all(folder).expect("it can be removed");
    }
}
