import { dirname } from "node:path";
import { type Argv, argvOf } from "../host/arguments";
import { absent, findEntry, ownerOf } from "../host/files";
import { foreign } from "../host/foreign";
import { type Host, pathOn } from "../host/host";
import { runProgram } from "../host/program";
import { osAnchor } from "../settings/os-anchor";
import { remainsIn, type Store, type Target } from "../store";
import { bundleOfOthers, pemBundle } from "./pem-bundle";

/** Python's certifi: a block in its bundle; or the system's store, where certifi leads there or the truststore package is to. */
export const certifi: Store = {
  async observe(target, material, host) {
    const found = await storeFor(target, host).catch(({ message }: Error) => message);
    return typeof found === "string" ? { certificates: [], differences: [found] } : found.observe(target, material, host);
  },
  async findRemains(target, material, host) {
    const found = await storeFor(target, host).catch(() => undefined); // without its Python, nothing reads it
    return found ? remainsIn(found, target, material, host) : [];
  },
  install: async (target, material, transaction) => (await storeFor(target, transaction.host)).install(target, material, transaction),
  async remove(target, transaction, certificate) {
    await osAnchor.remove(target, transaction);
    await pemBundle.remove(target, transaction, certificate);
  },
};

async function storeFor(target: Target, host: Host) {
  const python = await pythonFor(target, host);
  const path = await bundleOf(target, host, python);
  if (path === host.system.bundle) return osAnchor;
  if (!target.config.preferOsStore) return bundleOfOthers(() => path);
  await python(argvOf("-c", "import truststore")).catch(({ message }: Error) => {
    throw new Error(`config.preferOsStore needs Python's truststore package, beside certifi: ${message}`);
  });
  return osAnchor;
}

type Python = Awaited<ReturnType<typeof pythonFor>>;

/** A virtual environment may be anyone's: what root runs there runs as its owner, and sees nothing of the directory but the environment. */
async function pythonFor(target: Target, host: Host) {
  if (target.config.pythonVenvPath === undefined) return (args: Argv) => runProgram(host, argvOf("python3", args));
  const directory = venvOf(target, host);
  await ownerOfVenv(directory);
  return (args: Argv) => runProgram(host, argvOf("./bin/python", "-I", args), { directory });
}

const venvOf = ({ config: { pythonVenvPath = "" } }: Target, host: Host) => pathOn(host, pythonVenvPath, "pythonVenvPath");

async function ownerOfVenv(directory: string) {
  const owner = await ownerOf(directory).catch(absent);
  if (!owner) throw new Error(`${directory} does not exist. Let config.pythonVenvPath name a virtual environment.`);
  return owner;
}

/** Returns the path of certifi's bundle; in a user's virtual environment only that user's files, or the system's bundle. */
async function bundleOf(target: Target, host: Host, python: Python) {
  const { trustStorePath } = target.config;
  if (trustStorePath !== undefined) return pathOn(host, trustStorePath, "trustStorePath");
  const path = (await python(argvOf("-m", "certifi"))).stdout.trim();
  if (target.config.pythonVenvPath === undefined || path === host.system.bundle) return path;
  const owner = await ownerOfVenv(venvOf(target, host));
  const { uid } = (await findEntry(path)) ?? (await ownerOf(dirname(path)));
  if (uid !== owner.uid) throw new Error(`${foreign(path)}, where certifi leads, belongs to another user than ${venvOf(target, host)}. It is left alone.`);
  return path;
}
