import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.KeyStoreException;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.concurrent.Executors;
import javax.net.ssl.ExtendedSSLSession;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.X509ExtendedKeyManager;

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
    context = SSLContext.getInstance("TLS");
    context.init(new KeyManager[] {new ByName(KeyStore.getInstance(keystore.toFile(), password), password)}, null, null);
    readAt = changedAt;
    return context;
  }

  /** Takes the entry whose alias is the name that a client asks for. */
  private static class ByName extends X509ExtendedKeyManager {
    private final KeyStore keystore;
    private final char[] password;

    ByName(KeyStore keystore, char[] password) {
      this.keystore = keystore;
      this.password = password;
    }

    @Override
    public String chooseServerAlias(String keyType, Principal[] issuers, Socket socket) {
      var session = (ExtendedSSLSession) ((SSLSocket) socket).getHandshakeSession();
      for (var name : session.getRequestedServerNames()) if (name instanceof SNIHostName host) return host.getAsciiName();
      return null;
    }

    @Override
    public X509Certificate[] getCertificateChain(String alias) {
      try {
        var chain = keystore.getCertificateChain(alias);
        return chain == null ? null : Arrays.copyOf(chain, chain.length, X509Certificate[].class);
      } catch (KeyStoreException unread) {
        throw new IllegalStateException(unread);
      }
    }

    @Override
    public PrivateKey getPrivateKey(String alias) {
      try {
        return (PrivateKey) keystore.getKey(alias, password);
      } catch (GeneralSecurityException unread) {
        throw new IllegalStateException(unread);
      }
    }

    @Override
    public String[] getServerAliases(String keyType, Principal[] issuers) {
      return null;
    }

    @Override
    public String[] getClientAliases(String keyType, Principal[] issuers) {
      return null;
    }

    @Override
    public String chooseClientAlias(String[] keyTypes, Principal[] issuers, Socket socket) {
      return null;
    }
  }
}
