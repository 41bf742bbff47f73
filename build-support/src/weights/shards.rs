//! The index of safetensors files among which a model is split: JSON that says in which of them each tensor lies.

use super::json::{self, Json};
use super::{Failure, HEADER_LIMIT, Why, refused};
use crate::{files, walk};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Whether a file of this name is an index, `model.safetensors.index.json`, and not safetensors itself.
pub(crate) fn is_index(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// The files of an index, by names that start at the package's root; none if it cannot be read, which is reported
/// where a tensor of it is looked up.
pub(crate) fn all(package: &Path, name: &str) -> Vec<String> {
    let text = text(package, name).unwrap_or_default();
    let index = json::parse(&text).unwrap_or(Json::Other);
    let Some(Json::Object(places)) = index.get("weight_map") else { return Vec::new() };
    let shards: BTreeSet<&str> = places.iter().filter_map(|(_, shard)| shard.text()).collect();
    shards.into_iter().map(|shard| beside(name, shard)).collect()
}

/// The file in which a tensor lies.
pub(super) fn of_tensor(package: &Path, name: &str, tensor: &str) -> Result<String, Failure> {
    let shard = place(text(package, name)?.as_bytes(), tensor).map_err(|why| why.failure(name))?;
    Ok(beside(name, &shard))
}

/// The file of a tensor as an index writes it.
pub(super) fn place(index: &[u8], tensor: &str) -> Result<String, Why> {
    let text = std::str::from_utf8(index).map_err(|_| Why::Damaged("it is no text".into()))?;
    let index = json::parse(text).map_err(Why::Damaged)?;
    let Some(Json::Object(places)) = index.get("weight_map") else {
        return Err(Why::Damaged("it has no table `weight_map`, so it is no index of safetensors files".into()));
    };
    match places.iter().find(|(known, _)| known == tensor) {
        Some((_, Json::Text(shard))) => Ok(shard.clone()),
        Some(_) => Err(Why::Damaged(format!("it names no file for `{tensor}`"))),
        None => Err(Why::NoTensor(tensor.into(), places.iter().map(|(known, _)| known.clone()).collect())),
    }
}

/// Shards lie in the folder of their index.
fn beside(index: &str, shard: &str) -> String {
    let folder = Path::new(index).parent().unwrap_or(Path::new(""));
    walk::portable(&folder.join(shard))
}

fn text(package: &Path, name: &str) -> Result<String, Failure> {
    let path = files::locate(package, name).map_err(|refusal| refused(package, name, &refusal))?;
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(HEADER_LIMIT).read_to_string(&mut text));
    read.map_err(|error| Failure::damaged(name, error))?;
    Ok(text)
}
