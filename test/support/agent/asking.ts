import { createTransport } from "#agent/transport";

type Asking = { path?: string; maxAnswer?: number; lastSize?: number };
type Asked = { error?: string; status?: number; peakMib: number };

/** Sends a request as the agent does, in a process of its own, whose memory is measured. */
export async function askInOwnProcess(url: string, asking: Asking = {}): Promise<Asked> {
  const child = Bun.spawn([process.execPath, import.meta.path, JSON.stringify({ url, ...asking })], { stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if (out === "") throw new Error(err);
  return JSON.parse(out);
}

if (import.meta.main) {
  const { url, path = "/agent/assignments", maxAnswer, lastSize = 0 } = JSON.parse(process.argv[2] ?? "");
  const connection = () => ({ tls: {}, hasOwnAuthority: false });
  const send = createTransport({ server: url, connection, environment: {}, signal: new AbortController().signal, maxAnswer });
  const answer = await send({ method: "GET", path, lastSize }).then(
    ({ status }) => ({ status }),
    ({ message }: Error) => ({ error: message }),
  );
  console.info(JSON.stringify({ ...answer, peakMib: process.resourceUsage().maxRSS / 1024 }));
}
