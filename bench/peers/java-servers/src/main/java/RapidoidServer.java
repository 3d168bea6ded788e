import java.nio.charset.StandardCharsets;
import org.rapidoid.buffer.Buf;
import org.rapidoid.http.AbstractHttpServer;
import org.rapidoid.http.HttpStatus;
import org.rapidoid.http.MediaType;
import org.rapidoid.net.TCP;
import org.rapidoid.net.abstracts.Channel;
import org.rapidoid.net.impl.RapidoidHelper;

/**
 * rapidoid-http-fast as a server, with the settings that make it fastest and keep the comparison fair.
 *
 * <p>One worker, and its lowest layer: a protocol of this program on its parser, without its routes. It
 * reads all of a request's content into memory and has no responses of unknown length.
 */
public final class RapidoidServer extends AbstractHttpServer {
    private static final byte[] OF_820 = "/820".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] MEBIBYTE = "/1m".getBytes(StandardCharsets.US_ASCII);

    public static void main(String[] words) {
        var listen = Arguments.listen(words);
        TCP.server()
                .protocol(new RapidoidServer())
                .address(listen.getHostString())
                .port(listen.getPort())
                .workers(1)
                .noDelay(true)
                .build()
                .start();
    }

    @Override
    protected HttpStatus handle(Channel channel, Buf buffer, RapidoidHelper request) {
        boolean isKept = request.isKeepAlive.value;
        byte[] content = Text.HELLO;
        if (matches(buffer, request.path, OF_820)) {
            content = Text.OF_820;
        } else if (matches(buffer, request.path, MEBIBYTE)) {
            content = Text.MEBIBYTE;
        }
        return ok(channel, isKept, content, MediaType.TEXT_PLAIN);
    }
}
