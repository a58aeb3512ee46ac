import { readFileSync } from "node:fs";
import { type Address, readAddress } from "./address";

/** The mail server of SMTP_URL. */
export type MailServer = {
  host: string;
  port: number;
  /** TLS from the first byte; else STARTTLS, where it is offered or required. */
  isSecure: boolean;
  requiresTls: boolean;
  /** Certificate authorities in PEM that count instead of the system's. */
  ca?: string;
  /** True where the server's certificate must verify: not on this machine, unless something asks for it. */
  isVerified: boolean;
  user?: string;
  password?: string;
};
export type MailSettings = { server: MailServer; sender: Address };

type MailVariables = { url: string | undefined; from: string | undefined; publicUrl: string | undefined };
type Fault = (sentence: string) => void;

const PORTS: Record<string, number> = { "smtp:": 587, "smtps:": 465 };
const PARAMETERS = ["requireTLS", "ca"];
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Reads SMTP_URL and MAIL_FROM; undefined without them, or with a fault. No sentence holds the URL, which has the password. */
export function readMailSettings({ url, from, publicUrl }: MailVariables, fault: Fault): MailSettings | undefined {
  if (!url && !from) return;
  if (!url) return void fault("SMTP_URL is required with MAIL_FROM: the mail server, such as smtp://user:password@mail.example:587.");
  if (!from) fault("MAIL_FROM is required with SMTP_URL: where mails come from, such as Certitude <certitude@example.org>.");
  if (!publicUrl) fault("PUBLIC_URL is required with SMTP_URL: links in mails begin with it, and no request may choose where they lead.");
  const sender = from ? readAddress(from) : undefined;
  if (from && !sender) fault("MAIL_FROM must be an e-mail address, such as certitude@example.org or Certitude <certitude@example.org>.");
  const server = readServer(url, (sentence) => fault(`SMTP_URL ${sentence}`));
  return server && sender && { server, sender };
}

function readServer(text: string, fault: Fault): MailServer | undefined {
  const url = URL.parse(text);
  const defaultPort = PORTS[url?.protocol ?? ""];
  if (!url || defaultPort === undefined || url.hostname === "" || url.hostname.includes("%"))
    return void fault("must be an absolute URL that starts with smtp:// or smtps://.");
  if (url.pathname.length > 1 || url.hash) return void fault("must end after the host, the port and the parameters.");
  const unknown = [...url.searchParams.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) return void fault(`has a parameter that is not known: "${unknown}". Known are ${PARAMETERS.join(", ")}.`);
  const requireTls = url.searchParams.get("requireTLS");
  if (![null, "true", "false"].includes(requireTls)) return void fault("has a requireTLS that is neither true nor false.");
  const isSecure = url.protocol === "smtps:";
  const isLocal = LOOPBACK.test(url.hostname);
  const credentials = readCredentials(url, fault);
  const file = url.searchParams.get("ca");
  const ca = file === null ? "" : readFile(file, fault);
  if (!credentials || ca === undefined) return;
  return {
    host: url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname,
    port: url.port ? Number(url.port) : defaultPort,
    isSecure,
    requiresTls: requireTls === null ? !isLocal : requireTls === "true",
    isVerified: isSecure || !isLocal || requireTls === "true" || file !== null,
    ...(ca && { ca }),
    ...credentials,
  };
}

function readCredentials({ username, password }: URL, fault: Fault) {
  if ((username === "") !== (password === "")) return void fault("must name a user and a password, or neither.");
  try {
    return username === "" ? {} : { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    return void fault("has a percent sign that begins no escape such as %40.");
  }
}

function readFile(path: string, fault: Fault) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return void fault(`names a file that cannot be read: ca=${path}.`);
  }
}
