//! Faults on purpose: `TENFOLD_FAULT=abort:name` shows what a build does when a code generator dies on one function.

use crate::worker::message::Request;

/// Has the fault that was asked for, if the request is the one it is for.
pub(crate) fn have(request: &Request) {
    let Some((fault, name)) = request.options.fault.split_once(':') else {
        return;
    };
    // the name stands before the hash
    let middle = format!("_{name}_");
    if !request.symbol.contains(&middle) {
        return;
    }
    match fault {
        "abort" => {
            eprintln!("LLVM ERROR: Cannot select: a fault that was asked for");
            std::process::abort();
        }
        "panic" => std::panic::panic_any("a fault that was asked for"),
        "hang" => loop {
            std::thread::park();
        },
        _ => {}
    }
}
