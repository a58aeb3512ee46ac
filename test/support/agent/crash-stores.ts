import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Issued } from "../pki/authority";
import type { Installation, InstalledAgent } from "./installation";

type Place = (...names: string[]) => string;
export type Stock = { rootId: string; leafId: string; foreign: Issued };

/** A kind of store on a scratch host. */
export type DoomedStore = {
  name: string;
  assignment: (stock: Stock) => object;
  /** The config of its place, and of another one. */
  config: (place: Place) => object;
  elsewhere: (place: Place) => object;
  files: string[];
  /** Puts the things there that the agent will find. */
  prepare: (place: Place, stock: Stock) => void;
  /** True when the agent is killed at the steps in its own directory too. */
  isWhole: boolean;
};

export const DOOMED_STORES: DoomedStore[] = [
  {
    name: "a directory that is made for it, and the agent's own directory",
    assignment: ({ rootId }) => ({ certificateId: rootId, trustStoreType: "openssl_ca_dir" }),
    config: (place) => ({ trustStorePath: place("certs"), alias: "root" }),
    elsewhere: () => ({ alias: "other" }),
    files: ["certs/root.pem", "certs/other.pem"],
    prepare: (place) => rmSync(place("certs"), { recursive: true, force: true }),
    isWhole: true,
  },
  {
    name: "a bundle of others",
    assignment: ({ rootId }) => ({ certificateId: rootId, trustStoreType: "pem_ca_bundle" }),
    config: (place) => ({ trustStorePath: place("bundle.pem") }),
    elsewhere: (place) => ({ trustStorePath: place("other.pem") }),
    files: ["bundle.pem", "other.pem"],
    prepare: (place, { foreign }) => writeFileSync(place("bundle.pem"), `# theirs\r\n${foreign.pem}`, { mode: 0o640 }),
    isWhole: false,
  },
  {
    name: "a server's certificate and key, in the place of others",
    assignment: ({ leafId }) => ({ certificateId: leafId, trustStoreType: "nginx_tls", materialType: "server_certificate", includePrivateKey: true }),
    config: (place) => ({ trustStorePath: place(), certFileName: "tls.crt", keyFileName: "tls.key" }),
    elsewhere: () => ({ certFileName: "other.crt", keyFileName: "other.key" }),
    files: ["tls.crt", "tls.key", "other.crt", "other.key"],
    prepare(place, { foreign }) {
      writeFileSync(place("tls.crt"), foreign.pem, { mode: 0o664 });
      writeFileSync(place("tls.key"), foreign.privateKeyPem, { mode: 0o640 });
    },
    isWhole: false,
  },
  {
    name: "a setting that a tool writes, and the bundle that it names",
    assignment: ({ rootId }) => ({ certificateId: rootId, trustStoreType: "git_http_sslcainfo" }),
    config: (place) => ({ trustStorePath: place("bundle.pem") }),
    elsewhere: (place) => ({ trustStorePath: place("other.pem") }),
    files: ["gitconfig", "bundle.pem", "other.pem"],
    prepare: (place) => writeFileSync(place("gitconfig"), "[user]\n\tname = Ada ; theirs\n", { mode: 0o640 }),
    isWhole: false,
  },
];

/** An agent with an assignment that is not enabled. Its reload lists what the store holds, as a server that reads it would see it. */
export async function newDoomedTarget(installation: Installation, stock: Stock, store: DoomedStore) {
  const environment = (directory: string) => ({ TMPDIR: join(directory, "scratch"), GIT_CONFIG_SYSTEM: join(directory, "host/store/gitconfig") });
  const agent = await installation.enrol({ environment });
  mkdirSync(agent.pathOf("scratch"));
  const place = (...names: string[]) => agent.pathOf("host", "store", ...names);
  mkdirSync(place(), { recursive: true });
  const list = 'cd "$0" && find . -type f -exec sha256sum {} + -printf "%p %m %U\\n" | sort > "$1"';
  const reloadCommand = ["bash", "-c", list, place(), agent.pathOf("host", "served")];
  const config = { ...store.config(place), reloadCommand };
  const elsewhere = { config: { ...store.elsewhere(place), reloadCommand: ["false"] } };
  const { certificateId, ...rest } = store.assignment(stock) as { certificateId: string };
  const { id } = await agent.assign(certificateId, { ...rest, config, enabled: false });
  const own = [agent.pathOf("state", "assignments", `${id}.json`), agent.pathOf("state", "desired-state.json")];
  const files = [...store.files.map((each) => place(each)), ...(store.isWhole ? own : [])];
  const temporaries = files.map((path) => join(dirname(path), `.${basename(path)}.certitude-tmp`));
  const directories = files.flatMap((path) => [dirname(path), dirname(dirname(path))]);
  const tools = ["openssl", "git", "bash", "false"].map((name) => `/usr/bin/${name}`);
  const paths = [...new Set([...files, ...temporaries, ...directories, ...tools])];
  const prepare = () => store.prepare(place, stock);
  prepare();
  return { ...agent, id: String(id), elsewhere, prepare, paths };
}
export type DoomedTarget = Awaited<ReturnType<typeof newDoomedTarget>>;

/** Returns the remains of a killed agent that no later pass has cleared away. */
export function remainsOf({ pathOf }: InstalledAgent) {
  const isRemains = (name: string) => /certitude-tmp$|damaged$|journal$|^scratch\//.test(name);
  return readdirSync(pathOf(), { recursive: true }).map(String).filter(isRemains);
}
