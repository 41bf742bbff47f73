//! Random programs through the attribute and the build script: many functions in one crate with all their variants, which
//! is built by real cargo, runs at each level of the processor, and writes what each call gives.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use tenfold_core::Target;
use tenfold_core::pass::PassContext;
use tenfold_ir::Scalar;

use crate::data::Random;
use crate::harness::{End, number};
use crate::interpret::{Actual, Prepared, check_defined, prepare_all};
use crate::native;
use crate::native::runnable::{Level, Levels};
use crate::package::{BUILD_SCRIPT, Package, manifest};
use crate::program::{Signature, statements, write};
use crate::programs::settings;
use crate::shrink::shortest;

/// A program, its calls, and what they give by the interpreters.
struct Function {
    seed: u64,
    text: String,
    signature: Signature,
    calls: Vec<Prepared>,
}

/// The program of these statements; nothing where the interpreters disagree, which is another test's business.
fn function(seed: u64, statements: &[u64]) -> Option<Function> {
    let name = format!("program_{seed}");
    let written = write(&name, seed, statements).ok()?;
    let signature = Signature::of_seed(seed);
    let settings = settings(&written.module, &signature, &mut Random::new(seed));
    let context = PassContext::new(Target::from_triple(&native::host(), &[]));
    let calls = prepare_all(&name, written.module, settings, &context).ok()?;
    Some(Function { seed, text: written.text, signature, calls })
}

/// The crate's only file besides the functions: reads arguments, writes results.
fn main_file(functions: &[Function]) -> String {
    let mut out = include_str!("crate_main.rs.txt").to_string();
    for function in functions {
        for (turn, call) in function.calls.iter().enumerate() {
            let body = function.signature.call(&format!("program_{}", function.seed), &call.actual);
            let _ = writeln!(out, "fn call_{}_{turn}(r: &mut Reader, w: &mut Writer) {{\n{body}}}", function.seed);
        }
    }
    out += "fn main() {\n    let (mut r, mut w) = (Reader::open(), Writer::default());\n";
    for function in functions {
        for turn in 0..function.calls.len() {
            let _ = writeln!(out, "    call_{}_{turn}(&mut r, &mut w);", function.seed);
        }
    }
    out + "    w.close();\n}\n"
}

/// The arguments of all calls, one after the other.
fn arguments(functions: &[Function]) -> Vec<u8> {
    let of = |actual: &Actual| match actual {
        Actual::Buffer { cells, .. } => cells.iter().flatten().flat_map(|c| c.to_le_bytes()).collect(),
        Actual::Scalar(value) => value.to_le_bytes(),
        Actual::Index(_) | Actual::Workspace(_) => Vec::new(),
    };
    functions
        .iter()
        .flat_map(|f| &f.calls)
        .flat_map(|call| call.actual.iter().flat_map(of).collect::<Vec<u8>>())
        .collect()
}

/// Builds and runs a crate of these functions; gives the first that is wrong and why.
fn wrong(name: &str, functions: &[Function]) -> Option<(u64, String)> {
    let mut library =
        "//! Random programs.\n#![allow(missing_docs, clippy::all)]\nuse tenfold::prelude::*;\n\n".to_string();
    functions.iter().for_each(|f| library += &f.text);
    let package = Package::bare(name).env("TENFOLD_VARIANTS", "all");
    package.write("Cargo.toml", &manifest(name, "2024"));
    package.write("build.rs", BUILD_SCRIPT);
    package.write("src/lib.rs", &library);
    package.write("src/main.rs", &main_file(functions).replace("CRATE", &name.replace('-', "_")));
    let input = package.directory.join("in.bin");
    fs::write(&input, arguments(functions)).expect("the arguments can be written");
    let built = package.cargo(&["build", "--quiet"]);
    if !built.success {
        let seed = functions.iter().find(|f| built.stderr.contains(&format!("program_{}", f.seed)));
        return Some((seed.map_or(functions[0].seed, |f| f.seed), built.stderr));
    }
    Levels::here().all().iter().find_map(|level| {
        let (seed, error) = wrong_at(level, &package, functions)?;
        Some((seed, format!("{}: {error}", level.name)))
    })
}

/// The first of a built crate's functions whose code for a level is wrong.
fn wrong_at(level: &Level, package: &Package, functions: &[Function]) -> Option<(u64, String)> {
    let file = package.directory.join("out.bin");
    let _ = fs::remove_file(&file);
    let mut program = Command::new(package.program());
    let ran = program.current_dir(&package.directory).env("TENFOLD_VARIANT", level.name).output();
    let ran = ran.expect("the program starts");
    if !ran.status.success() {
        return Some((functions[0].seed, String::from_utf8_lossy(&ran.stderr).into_owned()));
    }
    let output = fs::read(&file).unwrap_or_default();
    let mut left = output.as_slice();
    functions.iter().find_map(|f| {
        let error = f.calls.iter().find_map(|call| compare(call, &mut left).err())?;
        Some((f.seed, error))
    })
}

/// Takes the results of a call off the output.
fn compare(call: &Prepared, left: &mut &[u8]) -> Result<(), String> {
    let (mark, rest) = left.split_first().ok_or("the program ended early")?;
    *left = rest;
    if *mark != 0 {
        return Err("the call refused its arguments".to_string());
    }
    for (arg, cells) in &call.definition {
        let Actual::Buffer { dtype, .. } = &call.actual[*arg] else { continue };
        for (n, expected) in cells.iter().enumerate() {
            let size = dtype.size_bytes();
            let (bytes, rest) = left.split_at_checked(size).ok_or("the program ended early")?;
            *left = rest;
            check_defined(*arg, n, *expected, Some(Scalar::from_le_bytes(*dtype, bytes)))?;
        }
    }
    Ok(())
}

/// Makes a program smaller that is wrong, a crate each time.
fn smallest(seed: u64) -> String {
    let fails = |statements: &[u64]| function(seed, statements).is_some_and(|f| wrong("random-one", &[f]).is_some());
    let least = shortest(statements(seed), fails);
    function(seed, &least).map(|f| f.text).unwrap_or_default()
}

#[test]
fn random_programs_through_cargo() {
    let (each, first) = (number("TENFOLD_RANDOM_CRATE", 8), number("TENFOLD_RANDOM_FROM", 0));
    let end = End::new(first);
    let (mut seed, mut built, mut calls) = (first, 0, 0);
    while seed == first || !end.reached(seed) {
        let functions: Vec<Function> = (seed..seed + each).filter_map(|s| function(s, &statements(s))).collect();
        if let Some((bad, error)) = wrong("random-many", &functions) {
            panic!("case {bad}: {error}\n{}", smallest(bad));
        }
        built += functions.len();
        calls += functions.iter().map(|f| f.calls.len()).sum::<usize>();
        seed += each;
    }
    println!("{built} functions of {each} to a crate, {calls} calls, from {first} up to {seed}: all right");
}
