import io.activej.bytebuf.ByteBuf;
import io.activej.csp.supplier.ChannelSuppliers;
import io.activej.eventloop.Eventloop;
import io.activej.http.AsyncServlet;
import io.activej.http.HttpHeaderValue;
import io.activej.http.HttpHeaders;
import io.activej.http.HttpMethod;
import io.activej.http.HttpRequest;
import io.activej.http.HttpResponse;
import io.activej.http.HttpServer;
import io.activej.promise.Promise;
import io.activej.reactor.net.ServerSocketSettings;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * ActiveJ, the successor of DataKernel, as a server, with the settings that make it fastest and keep
 * the comparison fair.
 *
 * <p>One event loop, a servlet without its router, content wrapped and not copied. ActiveJ adds no date,
 * so this program does.
 */
public final class ActivejServer {
    private static final HttpHeaderValue PLAIN =
            HttpHeaderValue.ofBytes("text/plain".getBytes(StandardCharsets.US_ASCII));
    private static final Dates DATES = new Dates();

    private ActivejServer() {}

    public static void main(String[] words) throws Exception {
        Eventloop loop = Eventloop.create();
        AsyncServlet servlet = ActivejServer::answer;
        HttpServer server = HttpServer.builder(loop, servlet)
                .withListenAddress(Arguments.listen(words))
                .withServerSocketSettings(ServerSocketSettings.builder().withBacklog(4096).build())
                .withKeepAliveTimeout(Duration.ofSeconds(75))
                .build();
        server.listen();
        loop.keepAlive(true);
        loop.run();
    }

    private static Promise<HttpResponse> answer(HttpRequest request) {
        if (request.getMethod() == HttpMethod.POST) {
            return request.takeBodyStream()
                    .streamTo(io.activej.csp.consumer.ChannelConsumers.recycling())
                    .then(nothing -> whole(Text.HELLO));
        }
        return switch (request.getPath()) {
            case "/820" -> whole(Text.OF_820);
            case "/1m" -> whole(Text.MEBIBYTE);
            case "/stream" -> builder().withBodyStream(pieces()).toPromise();
            default -> whole(Text.HELLO);
        };
    }

    private static io.activej.csp.supplier.ChannelSupplier<ByteBuf> pieces() {
        List<ByteBuf> pieces = new ArrayList<>();
        for (int at = 0; at < Text.MEBIBYTE.length; at += Text.PIECE_BYTES) {
            pieces.add(ByteBuf.wrap(Text.MEBIBYTE, at, at + Text.PIECE_BYTES));
        }
        return ChannelSuppliers.ofList(pieces);
    }

    private static Promise<HttpResponse> whole(byte[] content) {
        return builder().withBody(ByteBuf.wrapForReading(content)).toPromise();
    }

    private static HttpResponse.Builder builder() {
        return HttpResponse.ok200()
                .withHeader(HttpHeaders.CONTENT_TYPE, PLAIN)
                .withHeader(HttpHeaders.DATE, DATES.now());
    }
}
