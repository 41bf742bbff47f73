//! What a function brings along for devices: a program in a blob, linked as one more constant.

use super::member::Member;
use super::{
    backend,
    constants::{self, Format},
};
use crate::worker::message::Request;
use tenfold_core::pass::PassContext;
use tenfold_core::{Backend, CompileError, Device, DeviceCode, Options, compile_device, constant_symbol, pack_devices};
use tenfold_ir::{ConstBytes, ConstData, DType, Module, content};
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::index::{DeviceParts, Linked};
use tenfold_syntax::{Code, Diagnostic};

/// A device that a function is compiled for, and where that is written.
pub(super) struct Wanted {
    device: Device,
    node: NodeId,
}

/// The devices among the targets of a function, if who links it can call one.
pub(super) fn wanted(member: &Member, request: &Request) -> Result<Vec<Wanted>, Diagnostic> {
    let written = member.tree.attributes.devices().filter(|_| request.devices);
    let known = written.map(|text| {
        let device = Device::from_text(&text.value);
        let device = device.map_err(|why| Diagnostic::new(text.node, Code::Internal, why))?;
        Ok(Wanted { device, node: text.node })
    });
    known.collect()
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
        let error = Diagnostic::new(first.node, Code::Target, text);
        let help = "leave the device out there, or build for a target whose objects are ELF or WebAssembly";
        return Err(error.help(help));
    };
    let own = own_backend(wanted, backend)?;
    let backend = own.as_deref().unwrap_or(backend);
    let made = wanted.iter().map(|wanted| {
        let passes = super::passes_of_device(member, wanted.device);
        let made = passes.and_then(|passes| {
            let options = Options { passes, ..options.clone() };
            compile_device(module.clone(), wanted.device, context, &options, backend)
        });
        made.map_err(|error| refused(wanted, error))
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
    let ptx = wanted.iter().find(|wanted| wanted.device.is_ptx());
    let Some(wanted) = ptx.filter(|_| backend.name() != "llvm") else { return Ok(None) };
    backend::llvm().map(Some).map_err(|why| {
        let text = format!("the target `{}` needs LLVM: {why}", wanted.device);
        Diagnostic::new(wanted.node, Code::Environment, text)
    })
}

/// What a device does not take, with the target that asks for it.
fn refused(wanted: &Wanted, error: CompileError) -> Diagnostic {
    let error = super::diagnostic(error);
    let label = format!("because it is compiled for `{}`", wanted.device);
    if error.node == wanted.node { error } else { error.label(wanted.node, label) }
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
