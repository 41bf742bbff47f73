//! One small function, compiled for this machine, before LLVM is trusted with more.

use inkwell::{
    OptimizationLevel,
    context::Context,
    passes::PassBuilderOptions,
    targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple},
};

/// Compiles `n + n` to an object; says what failed.
pub(super) fn test() -> Result<(), String> {
    let triple = host()?;
    let context = Context::create();
    let module = context.create_module("smoke");
    let builder = context.create_builder();
    let int = context.i32_type();
    let function = module.add_function("twice", int.fn_type(&[int.into()], false), None);
    builder.position_at_end(context.append_basic_block(function, ""));
    let n = function.get_nth_param(0).ok_or("it loses a parameter")?.into_int_value();
    let sum = builder.build_int_add(n, n, "").map_err(|error| error.to_string())?;
    builder.build_return(Some(&sum)).map_err(|error| error.to_string())?;
    module.verify().map_err(|error| error.to_string())?;

    let machine = Target::from_triple(&triple)
        .map_err(|error| error.to_string())?
        .create_target_machine(&triple, "", "", OptimizationLevel::Default, RelocMode::PIC, CodeModel::Default)
        .ok_or("it makes no target machine")?;
    module.run_passes("default<O1>", &machine, PassBuilderOptions::create()).map_err(|error| error.to_string())?;
    let object = machine.write_to_memory_buffer(&module, FileType::Object).map_err(|error| error.to_string())?;
    if object.get_size() == 0 { Err("it writes an empty object".to_owned()) } else { Ok(()) }
}

/// This machine's triple, with its target initialised.
fn host() -> Result<TargetTriple, String> {
    let config = InitializationConfig::default();
    if cfg!(target_arch = "x86_64") {
        Target::initialize_x86(&config);
    } else if cfg!(target_arch = "aarch64") {
        Target::initialize_aarch64(&config);
    } else {
        return Err("this machine's processor is not supported".to_owned());
    }
    Ok(TargetMachine::get_default_triple())
}
