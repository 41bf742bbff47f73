//! What the driver makes of kernels, kept in a file from one process to the next.
//!
//! Drivers are not asked to bear damaged data, so a file begins with what tells that it is whole and made by the same
//! driver for the same device: a mark, this [`Identity`], how much data follows and its hash. The data is the driver's own,
//! whose header must say the same. A file that is anything else is as good as none.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process,
    sync::Mutex,
    sync::atomic::{AtomicU64, Ordering},
    vec::Vec,
};

use ash::vk;

use super::shared::Shared;
use crate::device::store::lock;

/// What a file begins with. The last byte is the version of this header.
const MARK: [u8; 16] = *b"tenfold cache\0\0\x01";

/// The driver's header: its length, its version, vendor, device, identifier.
const DRIVERS: usize = 32;

/// Bytes of a file at most.
const MOST: u64 = 256 << 20;

/// Which driver made the data, for which device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Identity {
    vendor: u32,
    device: u32,
    driver: u32,
    id: [u8; 16],
}

impl Identity {
    pub(super) fn of(properties: &vk::PhysicalDeviceProperties) -> Self {
        Self {
            vendor: properties.vendor_id,
            device: properties.device_id,
            driver: properties.driver_version,
            id: properties.pipeline_cache_uuid,
        }
    }

    /// The header of a file with this data.
    fn header(&self, data: &[u8]) -> Vec<u8> {
        let numbers = [self.vendor, self.device, self.driver].map(u32::to_le_bytes);
        let sizes = [data.len() as u64, hash(data)].map(u64::to_le_bytes);
        [&MARK[..], numbers.as_flattened(), &self.id, sizes.as_flattened()].concat()
    }

    /// The driver's data in a file, if that is whole and of this driver.
    fn data<'f>(&self, file: &'f [u8]) -> Option<&'f [u8]> {
        let (header, data) = file.split_at_checked(self.header(&[]).len())?;
        let version = vk::PipelineCacheHeaderVersion::ONE.as_raw() as u32;
        let own = [DRIVERS as u32, version, self.vendor, self.device].map(u32::to_ne_bytes);
        let own = data.starts_with(own.as_flattened()) && data.get(16..DRIVERS) == Some(&self.id);
        (own && header == self.header(data)).then_some(data)
    }
}

/// FNV-1a.
fn hash(data: &[u8]) -> u64 {
    data.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The file, if there is to be one, and the hash of what it holds.
#[derive(Default)]
pub(super) struct Kept(Mutex<Option<(PathBuf, Option<u64>)>>);

impl Shared {
    /// Takes up what a file holds, and keeps there from now on what the driver makes. Nobody makes pipelines meanwhile.
    pub(super) fn keep_pipelines(&self, path: PathBuf) {
        let file = read(&path).unwrap_or_default();
        let data = self.identity.data(&file);
        *lock(&self.kept.0) = Some((path, data.map(hash)));
        let Some(data) = data else { return };
        let info = vk::PipelineCacheCreateInfo::default().initial_data(data);
        // SAFETY: the device lives, and so does the data until the call is over; nobody else uses either cache.
        unsafe {
            let Ok(read) = self.raw.create_pipeline_cache(&info, None) else { return };
            // Where the driver does not take it, kernels are compiled.
            let _ = self.raw.merge_pipeline_caches(self.cache, &[read]);
            self.raw.destroy_pipeline_cache(read, None);
        }
    }

    /// Writes the file, if the driver has made something that is not in it. Where that fails, the next process compiles.
    pub(super) fn write_pipelines(&self) {
        let mut kept = lock(&self.kept.0);
        let Some((path, known)) = kept.as_mut() else { return };
        // SAFETY: the device and the cache live.
        let Ok(data) = (unsafe { self.raw.get_pipeline_cache_data(self.cache) }) else { return };
        let now = Some(hash(&data));
        if *known != now && write(path, &[self.identity.header(&data), data].concat()).is_ok() {
            *known = now;
        }
    }
}

/// The bytes of a file. What is none, such as a pipe, may never end.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let (mut bytes, file) = (Vec::new(), fs::File::open(path)?);
    if file.take(MOST + 1).read_to_end(&mut bytes)? as u64 > MOST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// Writes a file that is there as a whole or not at all, in the place of a file or of nothing: `/dev/null` is left.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if fs::metadata(path).is_ok_and(|it| !it.is_file()) || bytes.len() as u64 > MOST {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_os_string();
    name.push(std::format!(".{}.{}.part", process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    let part = path.with_file_name(name);
    // A process of the same number may have left one. What is opened is new, and no link to elsewhere.
    let _ = fs::remove_file(&part);
    let done = fs::File::create_new(&part).and_then(|mut file| file.write_all(bytes));
    let done = done.and_then(|()| fs::rename(&part, path));
    if done.is_err() {
        let _ = fs::remove_file(&part);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity { vendor: 0x10de, device: 0x2330, driver: 7, id: [9; 16] }
    }

    fn file(of: Identity) -> Vec<u8> {
        let words = [DRIVERS as u32, 1, of.vendor, of.device].map(u32::to_ne_bytes);
        let data = [words.as_flattened(), &of.id, b"what a driver makes"].concat();
        [of.header(&data), data].concat()
    }

    #[test]
    fn a_file_is_taken_as_it_was_written() {
        let whole = file(identity());
        assert!(identity().data(&whole).is_some_and(|data| data.ends_with(b"what a driver makes")));
    }

    #[test]
    fn what_is_damaged_is_not_taken() {
        let whole = file(identity());
        for at in 0..whole.len() {
            assert_eq!(identity().data(&whole[..at]), None, "{at} bytes");
            let mut wrong = whole.clone();
            wrong[at] ^= 0x10;
            assert_eq!(identity().data(&wrong), None, "byte {at}");
        }
    }

    /// A folder of this process's own.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(std::format!("tenfold-{}-{name}", process::id()));
        fs::create_dir_all(&folder).expect("a folder can be made");
        folder
    }

    #[test]
    fn files_are_whole_whoever_writes_them() {
        let folder = folder("whole");
        let (path, texts) = (folder.join("file"), [[1; 5000], [2; 5000]]);
        std::thread::scope(|scope| {
            for text in &texts {
                scope.spawn(|| (0..200).for_each(|_| write(&path, text).expect("it can be written")));
            }
            for _ in 0..500 {
                let found = read(&path);
                let whole = |found: &Vec<u8>| texts.iter().any(|text| found == text);
                assert!(
                    found.as_ref().is_ok_and(whole) || found.is_err_and(|why| why.kind() == io::ErrorKind::NotFound)
                );
            }
        });
        assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 1, "parts of files are left");
        fs::remove_dir_all(folder).expect("it is there");
    }

    #[test]
    #[cfg(unix)]
    fn what_is_no_file_is_neither_read_nor_replaced() {
        let folder = folder("links");
        let elsewhere = folder.join("elsewhere");
        fs::write(&elsewhere, "as it was").expect("it can be written");
        let socket = folder.join("socket");
        let _held = std::os::unix::net::UnixListener::bind(&socket).expect("a socket can be made");
        for path in [Path::new("/dev/zero"), &socket, &folder] {
            assert!(read(path).is_err(), "{path:?}");
            assert!(write(path, b"new").is_err(), "{path:?}");
            assert!(!path.is_file(), "{path:?}");
        }
        // A link to a file is replaced, and what it names is left.
        let link = folder.join("link");
        std::os::unix::fs::symlink(&elsewhere, &link).expect("a link can be made");
        write(&link, b"new").expect("it can be written");
        assert_eq!(read(&link).expect("it is there"), b"new");
        assert_eq!(read(&elsewhere).expect("it is there"), b"as it was");
        fs::remove_dir_all(folder).expect("it is there");
    }

    #[test]
    fn what_another_driver_made_is_not_taken() {
        let one = identity();
        let others = [
            Identity { vendor: 1, ..one },
            Identity { device: 1, ..one },
            Identity { driver: 1, ..one },
            Identity { id: [1; 16], ..one },
        ];
        assert!(others.iter().all(|other| one.data(&file(*other)).is_none() && other.data(&file(one)).is_none()));
    }
}
