import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.KeyStore;
import java.util.concurrent.Executors;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;

/** A TLS server that chooses among the entries of a keystore by the name that it is asked for, and reads the keystore again when it has changed. */
public class KeystoreServer {
  private static FileTime readAt;
  private static SSLContext context;

  /** Takes the keystore, the file of its password, and a port of loopback. */
  public static void main(String[] arguments) throws Exception {
    var keystore = Path.of(arguments[0]);
    var password = Files.readString(Path.of(arguments[1])).strip().toCharArray();
    var threads = Executors.newFixedThreadPool(8);
    try (var server = new ServerSocket(Integer.parseInt(arguments[2]), 100, InetAddress.getLoopbackAddress())) {
      while (true) {
        var socket = server.accept();
        threads.submit(() -> serve(socket, keystore, password));
      }
    }
  }

  private static void serve(Socket plain, Path keystore, char[] password) {
    try (plain) {
      plain.setSoTimeout(5_000);
      var secure = (SSLSocket) contextOf(keystore, password).getSocketFactory().createSocket(plain, (InputStream) null, true);
      secure.startHandshake();
      secure.getInputStream().read();
    } catch (Exception refused) { // a client that hangs up, or a keystore that is not there yet
      if (!(refused instanceof IOException)) System.err.println(refused);
    }
  }

  private static synchronized SSLContext contextOf(Path keystore, char[] password) throws Exception {
    var changedAt = Files.getLastModifiedTime(keystore);
    if (changedAt.equals(readAt)) return context;
    var keys = KeyManagerFactory.getInstance("NewSunX509"); // the one that looks at the name that is asked for
    keys.init(KeyStore.getInstance(keystore.toFile(), password), password);
    context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), null, null);
    readAt = changedAt;
    return context;
  }
}
