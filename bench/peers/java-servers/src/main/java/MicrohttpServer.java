import java.time.Duration;
import java.util.List;
import org.microhttp.EventLoop;
import org.microhttp.Handler;
import org.microhttp.Header;
import org.microhttp.LogEntry;
import org.microhttp.Logger;
import org.microhttp.Options;
import org.microhttp.Response;

/**
 * microhttp as a server, with the settings that make it fastest and keep the comparison fair.
 *
 * <p>One event loop that answers in its own thread, no log. microhttp adds no date, so this program
 * does; it reads all of a request's content into memory and has no responses of unknown length.
 */
public final class MicrohttpServer {
    private static final Header PLAIN = new Header("content-type", "text/plain");

    private MicrohttpServer() {}

    public static void main(String[] words) throws Exception {
        var listen = Arguments.listen(words);
        Options options = Options.builder()
                .withHost(listen.getHostString())
                .withPort(listen.getPort())
                .withReuseAddr(true)
                .withAcceptLength(4096)
                .withConcurrency(1)
                .withRequestTimeout(Duration.ofSeconds(75))
                .withReadBufferSize(64 * 1024)
                .withMaxRequestSize(256 << 20)
                .build();
        var dates = new Dates();
        Handler handler = (request, respond) -> {
            byte[] content = switch (request.uri()) {
                case "/820" -> Text.OF_820;
                case "/1m" -> Text.MEBIBYTE;
                default -> Text.HELLO;
            };
            var fields = List.of(PLAIN, new Header("date", dates.now()));
            respond.accept(new Response(200, "OK", fields, content));
        };
        var loop = new EventLoop(options, new NoLogger(), handler);
        loop.start();
        loop.join();
    }

    private static final class NoLogger implements Logger {
        @Override
        public boolean enabled() {
            return false;
        }

        @Override
        public void log(LogEntry... entries) {}

        @Override
        public void log(Exception error, LogEntry... entries) {}
    }
}
