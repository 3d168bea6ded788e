import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpHeadersFactory;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpHeadersFactory;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.AsciiString;

/**
 * Netty as a server, with the settings that make it fastest and keep the comparison fair.
 *
 * <p>One event loop on the native epoll transport, the codec without an aggregator, one flush for all
 * requests that were read at once, content in direct buffers that are shared and not copied. Fields of
 * requests are validated, as they are by default; those of the responses, which are constants, are not.
 */
public final class NettyServer {
    private static final HttpHeadersFactory FIELDS =
            DefaultHttpHeadersFactory.headersFactory().withValidation(false);
    private static final ByteBuf HELLO = shared(Text.HELLO);
    private static final ByteBuf TEXT = shared(Text.MEBIBYTE);
    private static final AsciiString PLAIN = AsciiString.cached("text/plain");

    private NettyServer() {}

    private static ByteBuf shared(byte[] bytes) {
        ByteBuf buffer = Unpooled.directBuffer(bytes.length).writeBytes(bytes);
        return Unpooled.unreleasableBuffer(buffer.asReadOnly());
    }

    public static void main(String[] words) throws Exception {
        EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());
        new ServerBootstrap()
                .group(loop)
                .channel(EpollServerSocketChannel.class)
                .option(ChannelOption.SO_BACKLOG, 4096)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        channel.pipeline().addLast(new HttpServerCodec(), new Answering());
                    }
                })
                .bind(Arguments.listen(words))
                .sync()
                .channel()
                .closeFuture()
                .sync();
    }

    private static final class Answering extends ChannelInboundHandlerAdapter {
        private static final Dates DATES = new Dates();
        private HttpRequest request;

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            if (message instanceof HttpRequest head) {
                request = head;
            }
            if (message instanceof HttpContent content) {
                content.release();
                if (message instanceof LastHttpContent) {
                    answer(context);
                }
            }
        }

        private void answer(ChannelHandlerContext context) {
            switch (request.uri()) {
                case "/820" -> whole(context, TEXT.slice(0, 820));
                case "/1m" -> whole(context, TEXT.duplicate());
                case "/stream" -> stream(context);
                default -> whole(context, HELLO.duplicate());
            }
        }

        private void whole(ChannelHandlerContext context, ByteBuf content) {
            var response = new DefaultFullHttpResponse(
                    HttpVersion.HTTP_1_1, HttpResponseStatus.OK, content, FIELDS, FIELDS);
            fields(response).setInt(HttpHeaderNames.CONTENT_LENGTH, content.readableBytes());
            end(context, response, response);
        }

        private void stream(ChannelHandlerContext context) {
            var response = new DefaultHttpResponse(
                    HttpVersion.HTTP_1_1, HttpResponseStatus.OK, FIELDS);
            fields(response).set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
            HttpUtil.setKeepAlive(response, HttpUtil.isKeepAlive(request));
            context.write(response);
            for (int at = 0; at < Text.MEBIBYTE.length; at += Text.PIECE_BYTES) {
                context.write(new DefaultHttpContent(TEXT.slice(at, Text.PIECE_BYTES)));
            }
            end(context, response, LastHttpContent.EMPTY_LAST_CONTENT);
        }

        private HttpHeaders fields(HttpMessage response) {
            return response.headers()
                    .set(HttpHeaderNames.CONTENT_TYPE, PLAIN)
                    .set(HttpHeaderNames.DATE, DATES.now());
        }

        private void end(ChannelHandlerContext context, HttpMessage response, Object last) {
            boolean isKept = HttpUtil.isKeepAlive(request);
            if (isKept && request.protocolVersion() == HttpVersion.HTTP_1_1) {
                context.write(last, context.voidPromise());
                return;
            }
            HttpUtil.setKeepAlive(response, isKept);
            if (isKept) {
                response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.KEEP_ALIVE);
                context.write(last, context.voidPromise());
            } else {
                context.write(last).addListener(ChannelFutureListener.CLOSE);
            }
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext context) {
            context.flush();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }
    }
}
