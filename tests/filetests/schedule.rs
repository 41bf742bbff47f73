//! `test schedule`: a trace applied to a prim-func, or why it is not.

use tenfold_core::schedule::{Schedule, Trace};
use tenfold_ir::{Function, tir};

use crate::command::lines;
use crate::file::File;

/// The function that the steps give, or what refuses the first that is refused. The trace must read back as it prints,
/// and replay to the same function; what the function computes stays.
pub(crate) fn run(file: &File) -> Result<Vec<String>, String> {
    let Some(Function::Prim(unscheduled)) = file.module.functions.get(&file.module.entry) else {
        return Err("expected a prim-func".into());
    };
    let trace = Trace::parse(&file.trace)?;
    let mut schedule = Schedule::new(&file.module, unscheduled.clone());
    if let Err(e) = trace.replay(&mut schedule) {
        return Ok(lines(&format!("error: {e}")));
    }
    let mut again = Schedule::new(&file.module, unscheduled.clone());
    let printed = schedule.trace().to_string();
    let replayed = Trace::parse(&printed).map_err(|e| format!("{e} in\n{printed}"))?.replay(&mut again);
    replayed.map_err(|e| format!("the replayed trace fails: {e}"))?;
    let (func, again) = (schedule.finish(), again.finish());
    if tir::structural_hash(&file.module, &func) != tir::structural_hash(&file.module, &again) {
        return Err("the replayed trace gives another function".into());
    }
    let errors = [tir::verify(&file.module, &func), tir::verify_bounds(&func)].concat();
    if let Some(first) = errors.first() {
        return Err(format!("the result breaks a law: {first}"));
    }
    crate::meaning::same(&file.module, unscheduled, &func, &file.syms)?;
    Ok(lines(&tir::print(&file.module, &func)))
}
