//! Options of img2dataset, and what is written in their place.

use super::counterpart::Counterpart::Unwritten;
use super::counterpart::Row;

/// What to say of options. No command is told: what they have by default is no option here.
pub(super) const OF_SAMPLES: &[Row] = &[
    ("write '-i FILE', with '-f tar -o FOLDER/' for samples", &[(Unwritten, &["--url_list"])]),
    ("write '--url-column COLUMN'", &[(Unwritten, &["--url_col"])]),
    (
        "write '--keep-columns', which has all other columns in meta of the records",
        &[(Unwritten, &["--caption_col", "--save_additional_columns"])],
    ),
    (
        "leave it out where the name of the list says it, or write '--input-format FORMAT'",
        &[(Unwritten, &["--input_format"])],
    ),
    (
        "write '-f tar -o FOLDER/', or '-f parquet -o FOLDER/'",
        &[(Unwritten, &["--output_format", "--output_folder"])],
    ),
    (
        "write '-c N', or leave it out, and the best number is found",
        &[(Unwritten, &["--thread_count", "--processes_count"])],
    ),
    ("write '--file-size SIZE'", &[(Unwritten, &["--number_sample_per_shard"])]),
    (
        "leave it out: images are not scaled, and content is written as it came",
        &[(
            Unwritten,
            &[
                "--image_size",
                "--resize_mode",
                "--resize_only_if_bigger",
                "--encode_format",
                "--encode_quality",
                "--skip_reencode",
            ],
        )],
    ),
    (
        "write '--skip-robots-tag RULES', as noai,noimageai,noindex,noimageindex; without it nothing is passed over",
        &[(Unwritten, &["--disallowed_header_directives", "--user_agent_token"])],
    ),
    ("write '--digest sha256'", &[(Unwritten, &["--compute_hash"])]),
    (
        "write '--run FOLDER': the same command goes on where a run was ended",
        &[(Unwritten, &["--incremental_mode"])],
    ),
    (
        "leave it out: a process uses all cores, and '--shard I/N' divides a list between machines",
        &[(Unwritten, &["--distributor"])],
    ),
];
