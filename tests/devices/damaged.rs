//! Code for a device that is cut off, flipped or of another version, on each device alike.

use tenfold::blob::BlobError;
use tenfold::program::ProgramError;
use tenfold::{Device, DeviceFault, DeviceTensor, Error, Status};
use tenfold_core::blob::{self, Module};
use tenfold_core::program::Program;

use crate::program::{Row, call, code, row};

fn why<T: std::fmt::Debug>(result: Result<T, Error>) -> DeviceFault {
    match result {
        Err(Error::Device { why, .. }) => why,
        other => panic!("{other:?} is no fault of a device"),
    }
}

/// A blob whose module was changed before the blob was put together.
fn of_another(whole: &[u8], key: &str) -> Vec<u8> {
    use tenfold_abi::blob::{ENTRY, HEADER, hash, padded};
    let mut other = whole.to_vec();
    other[HEADER + ENTRY + padded(key.len()).expect("it is short")] ^= 1;
    let all = hash(&other[HEADER..]);
    other[32..40].copy_from_slice(&all.to_le_bytes());
    other
}

/// Damaged code is an error, and leaves the result as it was.
pub(crate) fn refused<D: Device>(gpu: &D, program: &Program, key: &str) {
    let x = DeviceTensor::upload(gpu, row(65).view()).expect("there is memory");
    let mut y = Row::zeros(gpu, [65]).expect("there is memory");
    let payload = program.write().expect("the program is small");
    let module = |key: &str, payload: &[u8]| {
        blob::write(&[Module { key: key.into(), payload: payload.into(), imports: vec![] }])
            .expect("modules make a blob")
    };
    let whole = module(key, &payload);
    let mut run = |bytes: &[u8]| call(gpu, code(bytes), 1.0, &x, &mut y);
    for at in (0..whole.len()).step_by(37) {
        let mut flipped = whole.clone();
        flipped[at] ^= 4;
        assert!(matches!(why(run(&flipped)), DeviceFault::Blob(_)), "byte {at}");
        assert!(matches!(why(run(&whole[..at])), DeviceFault::Blob(_)), "the first {at} bytes");
    }
    assert_eq!(why(run(&of_another(&whole, key))), DeviceFault::Blob(BlobError::Hash));
    let mut later = whole.clone();
    later[8] += 1;
    assert_eq!(why(run(&later)), DeviceFault::Blob(BlobError::Version(tenfold_abi::blob::VERSION + 1)));
    let mut later = payload.clone();
    later[0] += 1;
    let version = DeviceFault::Program(ProgramError::Version(tenfold_abi::program::VERSION + 1));
    assert_eq!(why(run(&module(key, &later))), version);
    for at in (0..payload.len()).step_by(37) {
        assert!(matches!(why(run(&module(key, &payload[..at]))), DeviceFault::Program(_)), "the first {at} bytes");
    }
    assert_eq!(why(run(&module("another device", &payload))), DeviceFault::NoCode);
    assert_eq!(y.download(gpu).expect("the device works still"), [0.0; 65]);
    assert_eq!(call(gpu, code(&whole), 1.0, &x, &mut y), Ok(Status::OK));
}
