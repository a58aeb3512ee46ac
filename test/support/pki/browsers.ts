import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runs } from "./tls-clients";

/** Returns whether Chromium shows the page of a server, whose body is "trusted", or its own page of an error. */
export async function chromiumTrusts(url: string) {
  const directory = mkdtempSync(join(tmpdir(), "certitude-chromium-"));
  const options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"];
  const { stdout, stderr } = await runs(["chromium", ...options, `--user-data-dir=${directory}`, "--dump-dom", url], { HOME: directory });
  rmSync(directory, { recursive: true, force: true });
  if (stderr.includes("net::ERR_CERT_AUTHORITY_INVALID")) return false;
  if (stdout.includes("trusted")) return true;
  throw new Error(`chromium: ${stdout} ${stderr}`);
}

/** A profile of Firefox without anything that calls home. */
export function newProfile(directory: string) {
  mkdirSync(directory, { recursive: true });
  const off = [
    "app.normandy.enabled",
    "datareporting.policy.dataSubmissionEnabled",
    "network.captive-portal-service.enabled",
    "browser.safebrowsing.update.enabled",
  ];
  const lines = [...off.map((name) => `user_pref("${name}", false);`), 'user_pref("marionette.port", 0);', 'user_pref("remote.prefs.recommended", true);'];
  writeFileSync(join(directory, "user.js"), `${lines.join("\n")}\n`);
}

/** Returns whether Firefox opens the page of a server by this profile, as its remote protocol Marionette says. */
export async function firefoxTrusts(profile: string, url: string, home: string) {
  const portFile = join(profile, "MarionetteActivePort");
  rmSync(portFile, { force: true });
  const environment = { PATH: "/usr/bin:/bin", HOME: home, MOZ_HEADLESS: "1", MOZ_CRASHREPORTER_DISABLE: "1" };
  const child = Bun.spawn(["firefox-esr", "--no-remote", "--marionette", "--profile", profile], {
    env: environment,
    stdout: "ignore",
    stderr: "ignore",
    stdin: "ignore",
  });
  try {
    while (!(existsSync(portFile) && readFileSync(portFile, "utf8") !== "")) {
      if (child.exitCode !== null) throw new Error(`firefox-esr ended with ${child.exitCode}`);
      await Bun.sleep(50);
    }
    const ask = await talkTo(Number(readFileSync(portFile, "utf8")));
    await ask("WebDriver:NewSession", { capabilities: { alwaysMatch: { acceptInsecureCerts: false } } });
    const failure = await ask("WebDriver:Navigate", { url });
    if (failure && failure.error !== "insecure certificate") throw new Error(`firefox-esr: ${failure.error}: ${failure.message}`);
    await ask("Marionette:Quit", { flags: ["eForceQuit"] });
    await child.exited;
    return !failure;
  } finally {
    child.kill("SIGKILL");
    await child.exited;
  }
}

type Failure = { error: string; message: string } | null;

/** Marionette: each message is its length, a colon, and JSON. */
async function talkTo(port: number) {
  let heard = Buffer.alloc(0);
  let look = () => {};
  const socket = connect(port, "127.0.0.1").on("data", (bytes) => {
    heard = Buffer.concat([heard, Buffer.from(bytes)]);
    look();
  });
  const next = () =>
    new Promise<[number, number, Failure]>((resolve) => {
      look = () => {
        const colon = heard.indexOf(":");
        const length = Number(heard.subarray(0, colon).toString());
        if (colon < 0 || heard.length < colon + 1 + length) return;
        const message = heard.subarray(colon + 1, colon + 1 + length).toString();
        heard = heard.subarray(colon + 1 + length);
        look = () => {};
        resolve(JSON.parse(message));
      };
      look();
    });
  await next();
  let id = 0;
  return async (name: string, parameters: object): Promise<Failure> => {
    const message = JSON.stringify([0, ++id, name, parameters]);
    socket.write(`${Buffer.byteLength(message)}:${message}`);
    const [, , failure] = await next();
    return failure;
  };
}
