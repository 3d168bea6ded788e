//! How an end of HTTP/2 is driven, and within which limits.

use stoop_proto::Limits;

/// How an end's driver behaves: what it does depends on what it is observed, and not on when.
#[derive(Clone, Copy)]
pub(crate) struct Schedule(pub(crate) u8);

impl Schedule {
    pub(crate) fn answers(self, end: bool) -> bool {
        match self.0 & 3 {
            0 => false,
            3 => end,
            _ => true,
        }
    }

    pub(crate) fn has_content(self) -> bool {
        self.0 & 2 != 0
    }

    pub(crate) fn uses_at_once(self) -> bool {
        self.0 & 4 == 0
    }

    pub(crate) fn uses_at_end(self) -> bool {
        self.0 & 12 == 4
    }

    pub(crate) fn gives_up(self, stream: u32) -> bool {
        self.0 & 16 != 0 && stream % 8 == 5
    }

    pub(crate) fn holds_back(self) -> bool {
        self.0 & 32 != 0
    }

    pub(crate) fn may_open(self, streams: usize) -> bool {
        self.0 & 64 == 0 || streams < 2
    }

    pub(crate) fn drains(self, stream: u32) -> bool {
        self.0 & 128 != 0 && stream == 3
    }
}

/// Limits, tight ones so that small inputs meet them.
pub(crate) fn limits(is_server: bool, choice: u8) -> Limits {
    let mut limits = if is_server { Limits::server() } else { Limits::client() };
    let http2 = &mut limits.http2;
    (http2.connection_window_bytes, http2.stream_window_bytes) = (65_535, 65_535);
    if choice & 1 != 0 {
        (limits.head_bytes_max, limits.fields_max) = (200, 5);
        (limits.trailers_bytes_max, limits.interim_max) = (80, 1);
    }
    if choice & 2 != 0 {
        http2.streams_max = 3;
        (http2.resets.burst, http2.overhead_frames.burst) = (3, 16);
    }
    if choice & 4 != 0 {
        http2.extended_connect = true;
        limits.body_bytes_max = Some(20_000);
    }
    if choice & 8 != 0 {
        (http2.decoder_table_bytes_max, http2.encoder_table_bytes_max) = (64, 0);
    }
    if choice & 16 != 0 {
        http2.control_frames_max = 4;
    }
    limits
}
