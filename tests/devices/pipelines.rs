//! What a driver makes of kernels, kept in a file.

use std::path::{Path, PathBuf};

use tenfold::Vulkan;

use crate::faults::{child, folder};
use crate::gpu;
use crate::program::{check, linked, twice};

/// A place for a file that is not there, in a folder of its own.
fn place(name: &str) -> PathBuf {
    let path = folder(name).join("pipelines");
    let _ = std::fs::remove_file(&path);
    path
}

/// Runs a program on a device with this file, and gives what the file holds then.
fn run(path: &Path) -> Option<Vec<u8>> {
    let gpu = Vulkan::new().expect("there is a driver").with_pipelines(path);
    check(&gpu, linked(&twice()), 65).expect("the device works");
    std::fs::read(path).ok()
}

#[test]
fn pipelines_are_kept_in_a_file() {
    if gpu().is_none() {
        return;
    }
    let path = place("kept pipelines");
    let first = run(&path).expect("a file is written");
    assert!(first.starts_with(b"tenfold cache"), "{first:?}");
    assert_eq!(run(&path).as_ref(), Some(&first), "the next device takes it as it is");
    let others = std::fs::read_dir(folder("kept pipelines")).expect("the folder is there");
    let parts = others.filter_map(Result::ok).filter(|it| it.path().extension().is_some_and(|end| end == "part"));
    assert_eq!(parts.count(), 0, "parts of files are left");
}

#[test]
fn a_damaged_file_is_written_anew() {
    if gpu().is_none() {
        return;
    }
    let path = place("damaged pipelines");
    let whole = run(&path).expect("a file is written");
    let mut flipped = whole.clone();
    *flipped.last_mut().expect("it is not empty") ^= 1;
    for wrong in [&[][..], b"no file of pipelines", &whole[..whole.len() - 1], &flipped] {
        std::fs::write(&path, wrong).expect("it can be written");
        assert_eq!(run(&path).as_ref(), Some(&whole), "{} bytes", wrong.len());
    }
}

#[test]
fn a_file_that_cannot_be_written_is_left() {
    if gpu().is_none() {
        return;
    }
    assert_eq!(run(&folder("no pipelines").join("no folder").join("file")), None);
    assert_eq!(run(&folder("no pipelines")), None);
}

/// Processes that share a file find it whole, whoever of them writes it.
#[test]
fn processes_share_a_file() {
    if gpu().is_none() {
        return;
    }
    let whole = run(&place("one process")).expect("a file is written");
    let path = place("pipelines of processes");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| child("pipelines", &[("TENFOLD_VULKAN_CACHE", &path)]));
        }
    });
    assert_eq!(std::fs::read(&path).expect("a file is written"), whole);
}

#[test]
fn a_variable_names_the_file() {
    if gpu().is_none() {
        return;
    }
    let path = place("pipelines of a variable");
    child("pipelines", &[("TENFOLD_VULKAN_CACHE", &path)]);
    assert!(path.is_file());
}

/// In a process of its own.
pub(crate) fn named_by_a_variable() {
    let gpu = Vulkan::new().expect("there is a driver");
    check(&gpu, linked(&twice()), 3).expect("the device works");
}
