//! Folders that a run makes for what it writes: those in which another option has a file, which is opened before.

use std::fs;
use std::path::Path;

use super::output::RecordOutput;
use super::plan::FetchPlan;
use crate::failure::CommandFailure;
use crate::file_identity::place;

/// Makes the folders of --save, --run and --output that are not there, and have the output or the report in them.
///
/// # Errors
/// [`CommandFailure::Io`].
pub(super) fn make(plan: &FetchPlan) -> Result<(), CommandFailure> {
    let (folder, file) = match &plan.output {
        RecordOutput::Folder(folder) => (Some(folder.as_path()), None),
        RecordOutput::File(file) => (None, Some(file.as_path())),
        RecordOutput::Stdout | RecordOutput::Nowhere => (None, None),
    };
    let folders = [plan.content.save_folder(), plan.run.run.as_deref(), folder];
    let is_within = |file: &Path, folder: &Path| {
        file.parent().is_some_and(|parent| place(parent) == place(folder))
    };
    for folder in folders.into_iter().flatten().filter(|folder| !folder.exists()) {
        let mut files = [file, plan.report.as_deref()].into_iter().flatten();
        if files.any(|file| is_within(file, folder)) {
            fs::create_dir_all(folder).map_err(|error| {
                CommandFailure::io(&format!("cannot make the folder {}", folder.display()), &error)
            })?;
        }
    }
    Ok(())
}
