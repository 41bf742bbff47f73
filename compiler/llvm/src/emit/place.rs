//! Lines of the user's source in the object, without any path of the machine that built it.

use std::cell::RefCell;

use inkwell::{
    debug_info::{
        AsDIScope, DICompileUnit, DIFlags, DIFlagsConstants, DISubprogram, DWARFEmissionKind, DWARFSourceLanguage,
        DebugInfoBuilder,
    },
    module::FlagBehavior,
};
use tenfold_core::CodegenOptions;
use tenfold_ir::Loc;

use crate::ir::{Ir, Metadata, Value};

/// Makes places in the source.
pub(super) struct Places<'a, 'c> {
    lines: &'a [u32],
    debug: Option<Debug<'c>>,
}

struct Debug<'c> {
    builder: DebugInfoBuilder<'c>,
    unit: DICompileUnit<'c>,
    current: RefCell<Option<DISubprogram<'c>>>,
}

impl<'a, 'c> Places<'a, 'c> {
    /// For a module; there are no places if the options name no file.
    pub(super) fn new(ir: &Ir<'c, '_>, options: &'a CodegenOptions) -> Self {
        if options.file.is_empty() {
            return Places { lines: &[], debug: None };
        }
        let module = ir.module();
        let version = inkwell::debug_info::debug_metadata_version();
        let version = module.get_context().i32_type().const_int(u64::from(version), false);
        module.add_basic_value_flag("Debug Info Version", FlagBehavior::Warning, version);
        let (builder, unit) = module.create_debug_info_builder(
            true,
            DWARFSourceLanguage::Rust,
            &options.file,
            "",
            "tenfold",
            true,
            "",
            0,
            "",
            DWARFEmissionKind::LineTablesOnly,
            0,
            false,
            false,
            "",
            "",
        );
        let debug = Debug { builder, unit, current: RefCell::new(None) };
        Places { lines: &options.lines, debug: Some(debug) }
    }

    /// What follows is inside this function.
    pub(super) fn enter(&self, ir: &Ir<'c, '_>, name: &str, loc: Loc, function: Value<'c>) {
        let Some(debug) = &self.debug else { return };
        let (builder, unit) = (&debug.builder, &debug.unit);
        let ty = builder.create_subroutine_type(unit.get_file(), None, &[], DIFlags::ZERO);
        let line = self.line(loc);
        let program = builder.create_function(
            unit.as_debug_info_scope(),
            name,
            None,
            unit.get_file(),
            line,
            ty,
            false,
            true,
            line,
            DIFlags::ZERO,
            true,
        );
        ir.set_subprogram(function, program);
        debug.current.replace(Some(program));
    }

    /// A place inside the current function.
    pub(super) fn at(&self, ir: &Ir<'c, '_>, loc: Loc) -> Option<Metadata<'c>> {
        let debug = self.debug.as_ref()?;
        let program = (*debug.current.borrow())?;
        let scope = program.as_debug_info_scope();
        let context = ir.module().get_context();
        let location = debug.builder.create_debug_location(context, self.line(loc), 0, scope, None);
        Some(ir.location(location))
    }

    fn line(&self, loc: Loc) -> u32 {
        if loc.function != 0 {
            return 0;
        }
        self.lines.get(loc.node as usize).copied().unwrap_or(0)
    }

    /// No place is made any more.
    pub(super) fn finish(&self) {
        if let Some(debug) = &self.debug {
            debug.builder.finalize();
        }
    }
}
