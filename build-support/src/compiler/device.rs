//! What a function brings along for devices: a program in a blob, linked as one more constant.

use super::member::Member;
use super::{
    backend,
    constants::{self, Format},
};
use crate::worker::message::Request;
use tenfold_core::pass::PassContext;
use tenfold_core::{
    Backend, CompileError, Device, DeviceCode, Options, Target, compile_device, constant_symbol, pack_devices,
};
use tenfold_ir::{ConstBytes, ConstData, DType, Module, content};
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::index::{DeviceParts, Linked};
use tenfold_syntax::{Code, Diagnostic};

/// A device that a function is compiled for.
pub(super) struct Wanted {
    pub(super) target: Target,
    /// Where that is written; none where it is the whole build that is for the device.
    node: Option<NodeId>,
}

/// The devices among the targets of a function, else those of the build, if who links it can call one.
pub(super) fn wanted(member: &Member, request: &Request) -> Result<Vec<Wanted>, Diagnostic> {
    let attributes = &member.tree.attributes;
    if !request.devices {
        return Ok(Vec::new());
    }
    if attributes.targets.is_empty() {
        let of_build = request.target.devices();
        return Ok(of_build.into_iter().map(|target| Wanted { target, node: None }).collect());
    }
    let known = attributes.devices().map(|text| {
        let device = Device::from_text(&text.value);
        let device = device.map_err(|why| Diagnostic::new(text.node, Code::Internal, why))?;
        Ok(Wanted { target: device.target(), node: Some(text.node) })
    });
    known.collect()
}

impl Wanted {
    /// Whether its kernels are PTX.
    pub(super) fn is_ptx(&self) -> bool {
        self.target.device.is_some_and(Device::is_ptx)
    }

    /// What is wrong with its being wanted.
    fn error(&self, code: Code, text: String) -> Diagnostic {
        Diagnostic::new(self.node.unwrap_or(NodeId::FUNCTION), code, text)
    }

    /// What a device does not take, with what asks for it.
    pub(super) fn refused(&self, error: CompileError) -> Diagnostic {
        let error = super::diagnostic(error);
        let device = self.target.device.map(|device| device.to_string()).unwrap_or_default();
        match self.node {
            Some(node) if error.node == node => error,
            Some(node) => error.label(node, format!("because it is compiled for `{device}`")),
            None => error.label(
                NodeId::FUNCTION,
                format!("because the whole build is for `{device}`; `targets(\"cpu\")` keeps this function out of it"),
            ),
        }
    }
}

/// Compiles a function for devices, and writes the archives of what it brings along; nothing where none is wanted.
pub(super) fn compile(
    wanted: &[Wanted],
    member: &Member,
    module: &Module,
    context: &PassContext,
    options: &Options,
    backend: &dyn Backend,
    request: &Request,
) -> Result<Option<DeviceParts>, Diagnostic> {
    let Some(first) = wanted.first() else { return Ok(None) };
    let Some(format) = constants::format(request) else {
        let text = format!("programs for devices cannot be linked for `{}` yet", request.target.triple);
        let error = first.error(Code::Target, text);
        let help = "leave the device out there, or build for a target whose objects are ELF or WebAssembly";
        return Err(error.help(help));
    };
    let own = own_backend(wanted, backend)?;
    let backend = own.as_deref().unwrap_or(backend);
    let made = wanted.iter().map(|wanted| {
        let passes = super::passes_of_device(member, &wanted.target);
        let made = passes.and_then(|passes| {
            let options = Options { passes, ..options.clone() };
            compile_device(module.clone(), wanted.target.clone(), context, &options, backend)
        });
        made.map_err(|error| wanted.refused(error))
    });
    let made = made.collect::<Result<Vec<_>, _>>()?;
    let DeviceCode { blob, constants } = pack_devices(made).map_err(super::diagnostic)?;
    constants::publish(request, &constants, &options.section)?;
    let constants = constants.iter().map(|data| linked(data, format, &options.section)).collect();
    let blob = blob_data(blob);
    constants::publish(request, std::slice::from_ref(&blob), "")?;
    Ok(Some(DeviceParts { blob: linked(&blob, format, ""), constants }))
}

/// LLVM where a device needs it and the processor's code is made by another back end.
fn own_backend(wanted: &[Wanted], backend: &dyn Backend) -> Result<Option<Box<dyn Backend>>, Diagnostic> {
    let ptx = wanted.iter().find(|wanted| wanted.is_ptx());
    let Some(wanted) = ptx.filter(|_| backend.name() != "llvm") else { return Ok(None) };
    backend::llvm().map(Some).map_err(|why| {
        let device = wanted.target.device.map(|device| device.to_string()).unwrap_or_default();
        wanted.error(Code::Environment, format!("the target `{device}` needs LLVM: {why}"))
    })
}

fn linked(data: &ConstData, format: Format, section: &str) -> Linked {
    let archive = constants::archive(&data.hash, format, section);
    Linked { archive, symbol: constant_symbol(&data.hash), bytes: constants::length(data) }
}

/// The blob as a constant of bytes.
fn blob_data(bytes: Vec<u8>) -> ConstData {
    let shape = vec![bytes.len() as u64];
    let hash = content::of_bytes(DType::U8, &shape, &bytes);
    ConstData { hash, name: "program".into(), dtype: DType::U8, shape, bytes: ConstBytes::Inline(bytes.into()) }
}
