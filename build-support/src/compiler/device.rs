//! What a function brings along for devices: a program in a blob, linked as one more constant.

use super::constants;
use super::member::Member;
use crate::worker::message::Request;
use tenfold_core::pass::PassContext;
use tenfold_core::{Device, DeviceCode, Options, compile_device, constant_symbol};
use tenfold_ir::{ConstBytes, ConstData, DType, Module, content};
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::index::{DeviceParts, Linked};
use tenfold_syntax::{Code, Diagnostic};

/// A device that a function is compiled for, and where that is written.
pub(super) struct Wanted {
    device: Device,
    node: NodeId,
}

/// The device among the targets of a function, if who links it can call one.
pub(super) fn wanted(member: &Member, request: &Request) -> Option<Wanted> {
    let mut written = member.tree.attributes.devices().filter(|_| request.devices);
    written.find_map(|text| Some(Wanted { device: Device::from_text(&text.value).ok()?, node: text.node }))
}

/// Compiles a function for a device, and writes the archives of what it brings along.
pub(super) fn compile(
    wanted: &Wanted,
    module: Module,
    context: &PassContext,
    options: &Options,
    request: &Request,
) -> Result<DeviceParts, Diagnostic> {
    if !constants::linked_for(&request.target.triple) {
        let text = format!("programs for devices cannot be linked for `{}` yet", request.target.triple);
        let error = Diagnostic::new(wanted.node, Code::Target, text);
        let help = "leave the device out there, or build for a target whose objects are ELF or WebAssembly";
        return Err(error.help(help));
    }
    let made = compile_device(module, wanted.device, context, options);
    let DeviceCode { blob, constants, .. } = made.map_err(|error| {
        let error = super::diagnostic(error);
        let label = format!("because it is compiled for `{}`", wanted.device);
        if error.node == wanted.node { error } else { error.label(wanted.node, label) }
    })?;
    constants::publish(request, &constants, &options.section)?;
    let constants = constants.iter().map(linked).collect();
    let blob = blob_data(blob);
    constants::publish(request, std::slice::from_ref(&blob), "")?;
    Ok(DeviceParts { blob: linked(&blob), constants })
}

fn linked(data: &ConstData) -> Linked {
    let archive = constants::archive(&data.hash);
    Linked { archive, symbol: constant_symbol(&data.hash), bytes: constants::length(data) }
}

/// The blob as a constant of bytes.
fn blob_data(bytes: Vec<u8>) -> ConstData {
    let shape = vec![bytes.len() as u64];
    let hash = content::of_bytes(DType::U8, &shape, &bytes);
    ConstData { hash, name: "program".into(), dtype: DType::U8, shape, bytes: ConstBytes::Inline(bytes.into()) }
}
