//! Finds what lies inside the GPUs of a system.

use crate::diagnostic::Diagnosis;
use crate::system::System;
use crate::system::gpus::{self, GpuModel};

/// Gives the model of a GPU, where a file says which it is.
pub(super) fn model_of(system: &System, gpu: u32) -> Option<&GpuModel> {
    let place = system.gpu(gpu);
    let server = system.kind_of(place.server).server();
    server.devices()[server.gpus()[place.index as usize]].gpu_model()
}

/// Gives the model of GPUs of a system, where that says what lies inside.
///
/// # Errors
/// A model that is not known, or has no `[hierarchy]`, and GPUs of several models.
///
/// # Panics
/// If a GPU does not exist, or there is none.
pub fn inside_of(system: &System, gpus: &[u32]) -> Result<GpuModel, Diagnosis> {
    let models: Vec<_> = gpus.iter().map(|gpu| model_of(system, *gpu)).collect();
    let first = models[0];
    let known = first.filter(|model| model.hierarchy().is_ok());
    if let Some(model) = known.filter(|_| models.iter().all(|other| *other == first)) {
        return Ok(model.clone());
    }
    let inside: Vec<&str> =
        gpus::all().filter(|it| it.hierarchy().is_ok()).map(|it| it.name.as_str()).collect();
    let of = match first {
        None => "no file says which model they are".to_owned(),
        Some(_) if known.is_some() => "they are of several models".to_owned(),
        Some(model) => format!("the file of `{}` has no [hierarchy]", model.name),
    };
    Err(Diagnosis::of(format!(
        "nothing says what lies inside the GPUs of `{}`: {of}",
        system.name()
    ))
    .remedy(format!(
        "give --gpu a preset with a [hierarchy] ({}), or a file of your own model with one",
        inside.join(", ")
    )))
}
