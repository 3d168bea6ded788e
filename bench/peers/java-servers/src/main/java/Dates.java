import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** The date of responses, for servers that add none: formatted once a second, by one thread. */
final class Dates {
    private static final DateTimeFormatter FORMAT =
            DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.US)
                    .withZone(ZoneOffset.UTC);

    private long second = -1;
    private String text;

    String now() {
        long second = System.currentTimeMillis() / 1000;
        if (second != this.second) {
            this.second = second;
            text = FORMAT.format(Instant.ofEpochSecond(second));
        }
        return text;
    }
}
