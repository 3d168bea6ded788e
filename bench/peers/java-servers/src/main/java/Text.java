import java.nio.charset.StandardCharsets;

/** The agreed content of responses. */
final class Text {
    static final byte[] HELLO = "Hello, world!".getBytes(StandardCharsets.US_ASCII);
    static final byte[] MEBIBYTE = alphabet(1 << 20);
    static final byte[] OF_820 = alphabet(820);
    static final int PIECE_BYTES = 64 * 1024;

    private Text() {}

    private static byte[] alphabet(int bytes) {
        byte[] text = new byte[bytes];
        for (int i = 0; i < bytes; i++) {
            text[i] = (byte) ('a' + i % 26);
        }
        return text;
    }
}
