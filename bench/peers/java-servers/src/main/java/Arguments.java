import java.net.InetSocketAddress;

/** The command line of all servers here: {@code --listen IP:PORT}. */
final class Arguments {
    private Arguments() {}

    static InetSocketAddress listen(String[] words) {
        if (words.length != 2 || !words[0].equals("--listen")) {
            System.err.println("usage: --listen IP:PORT");
            System.exit(2);
        }
        int colon = words[1].lastIndexOf(':');
        int port = Integer.parseInt(words[1].substring(colon + 1));
        return new InetSocketAddress(words[1].substring(0, colon), port);
    }
}
