//! A function whose body is a model in a file.

use super::member::Member;
use crate::files;
use crate::weights;
use tenfold_core::pass::Remark;
use tenfold_ir::relax::{FactDecl, SymDecl, SymKind, prover};
use tenfold_ir::{Loc, Module};
use tenfold_onnx::{About, Elem, Import, Options, Parameter, Port};
use tenfold_syntax::ast::{Model, ModelFormat, NodeId};
use tenfold_syntax::signature::{Instance, SigKind, SigParam, SigResult, Signature, signature_of};
use tenfold_syntax::{Code, Diagnostic};

/// What the importer says of a model: nodes of floats between quantisations that could not become integers.
const IMPORT: &str = "OnnxImport";

/// Imports the model, whose inputs and outputs must be those that are written.
pub(super) fn module(
    member: &Member,
    model: &Model,
    instance: &Instance,
) -> Result<(Module, Vec<Remark>), Vec<Diagnostic>> {
    let name = &model.file.value;
    let path = files::locate(member.package(), name).map_err(|refusal| {
        let failure = weights::refused(member.package(), name, &refusal);
        vec![Diagnostic::new(model.file.node, failure.code, failure.message).help(failure.help)]
    })?;
    let (Some(written), _) = signature_of(&member.tree, instance) else { return Err(Vec::new()) };
    let options =
        Options { name: member.tree.name.text.clone(), signature: Some(declared(&written)?), ..Options::default() };
    let imported = match model.format {
        ModelFormat::Onnx => tenfold_onnx::read(&path, &options),
        ModelFormat::Tflite => tenfold_tflite::read(&path, &options),
    };
    let imported = imported.map_err(|error| {
        let problems = error.problems.iter();
        let node_of = |at: usize| written.params.get(at).map_or(NodeId::FUNCTION, |param| param.node);
        let told = problems.map(|problem| match problem.about {
            About::Input(at) => mismatch(node_of(at), problem.to_string()),
            About::Inputs => mismatch(NodeId::FUNCTION, problem.to_string()),
            About::Model => Diagnostic::new(model.file.node, Code::Model, format!("`{name}`: {problem}")),
        });
        told.collect::<Vec<_>>()
    })?;
    let errors = compare(&imported, &written, model);
    if !errors.is_empty() {
        return Err(errors);
    }
    let function = &imported.module.entry;
    let notes = imported.notes.iter();
    let remarks = notes.map(|(place, why)| Remark::missed(IMPORT, function, place.clone(), stays(why))).collect();
    Ok((imported.module, remarks))
}

fn stays(why: &str) -> String {
    format!("it stays an operator of floats: {why}")
}

fn mismatch(node: NodeId, message: String) -> Diagnostic {
    let help = "`cargo tenfold signature FILE` prints the signature of a model";
    Diagnostic::new(node, Code::ModelSignature, message).help(help)
}

/// What is written, as the importer takes it.
fn declared(written: &Signature) -> Result<tenfold_onnx::Signature, Vec<Diagnostic>> {
    let dims = written.dims.iter().map(|dim| {
        let loc = Loc::node(written.params[dim.param].dim_nodes[dim.axis].0);
        SymDecl { sym: dim.sym.clone(), kind: SymKind::Dim { param: dim.param, axis: dim.axis }, loc }
    });
    let facts = written.facts.iter().map(|fact| FactDecl {
        fact: fact.fact.clone(),
        text: fact.text.clone(),
        loc: Loc::node(fact.node.0),
    });
    let initializer = |place| written.loaded.iter().find(|(loaded, _)| *loaded == place).map(|(_, name)| name.clone());
    let params = written.params.iter().enumerate();
    let inputs: Vec<_> = params.map(|(place, param)| parameter(param, initializer(place))).collect();
    let errors: Vec<Diagnostic> = inputs.iter().filter_map(|input| input.as_ref().err().cloned()).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let inputs = inputs.into_iter().flatten().collect();
    Ok(tenfold_onnx::Signature { dims: dims.collect(), facts: facts.collect(), inputs })
}

fn parameter(param: &SigParam, initializer: Option<String>) -> Result<Parameter, Diagnostic> {
    let refused = |what: &str| mismatch(param.node, format!("`{}` is {what}, and a model has none", param.name));
    let scalar = match param.kind {
        SigKind::Input => false,
        SigKind::Scalar => true,
        SigKind::Strided => return Err(refused("an input with strides")),
        SigKind::State => return Err(refused("a state")),
        SigKind::Index { .. } => return Err(refused("an index value")),
    };
    let (name, shape) = (param.name.clone(), param.dims.clone());
    Ok(Parameter { name, scalar, dtype: param.dtype, shape, initializer, loc: Loc::node(param.node.0) })
}

/// What is wrong with the results that are written.
fn compare(imported: &Import, written: &Signature, model: &Model) -> Vec<Diagnostic> {
    let (outputs, results) = (&imported.outputs, &written.results);
    if outputs.len() != results.len() {
        let names: Vec<&str> = outputs.iter().map(|port| port.name.as_str()).collect();
        let message =
            format!("the model has {} outputs ({}), found {}", outputs.len(), names.join(", "), results.len());
        return vec![mismatch(results.first().map_or(model.node, |result| result.node), message)];
    }
    let prover = imported.module.relax(&imported.module.entry).map(prover).unwrap_or_default();
    let fits = |port: &Port, result: &SigResult| {
        let same = |(a, b): (&_, &_)| a == b || prover.prove_eq(a, b);
        port.elem == Elem::of(result.dtype)
            && port.shape.len() == result.dims.len()
            && port.shape.iter().zip(&result.dims).all(same)
    };
    let wrong = outputs.iter().zip(results).filter(|(port, result)| !fits(port, result));
    wrong
        .map(|(port, result)| {
            let text = format!("the output `{}` is {}{:?} in the model", port.name, port.elem, port.shape);
            mismatch(result.node, format!("{text}, found {}{:?}", result.dtype, result.dims))
        })
        .collect()
}
