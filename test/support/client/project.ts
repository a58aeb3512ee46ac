import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

export const ROOT = resolve(import.meta.dir, "../../..");
const INSTALLED = join(ROOT, "node_modules");

/** The compilers that clients use, by their names in our own package.json. */
export const COMPILERS = ["typescript", "typescript-5.9"];

/** As strict as a compiler can be asked to be. */
const STRICT = { strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, noImplicitOverride: true, verbatimModuleSyntax: true };

/** A project of another team in a directory of its own: what stands outside it is not found. */
export async function createProject() {
  const directory = mkdtempSync(join(tmpdir(), "certitude-project-"));
  await Bun.write(join(directory, "package.json"), JSON.stringify({ name: "another-team", type: "module", private: true }));

  /** Has what `npm install` of the packages brings: their programs, their dependencies and those of their peers that are not optional. */
  async function install(...names: string[]) {
    for (const name of names) await installAs(name, name);
  }

  async function installAs(name: string, source: string) {
    const target = join(directory, "node_modules", name);
    if (existsSync(target)) return;
    mkdirSync(dirname(target), { recursive: true });
    cpSync(join(INSTALLED, source), target, { recursive: true });
    for (const [program, path] of await programsOf(target)) linkProgram(join(directory, "node_modules/.bin", program), join(target, path));
    await install(...(await neededBy(target)));
  }

  return {
    directory,
    install,
    installAs,
    neededBy: (name: string) => neededBy(join(directory, "node_modules", name)),
    write: (name: string, text: string) => Bun.write(join(directory, name), text),
    /** Compiles the file, and returns what the compiler says; nothing where all is well. */
    async compile(compiler: string, file: string, options: Record<string, unknown>, out?: string) {
      const emitting = out === undefined ? { noEmit: true } : { outDir: out };
      const compilerOptions = { ...STRICT, target: "ES2023", types: [], ...emitting, ...options };
      const name = `tsconfig.${crypto.randomUUID()}.json`;
      await Bun.write(join(directory, name), JSON.stringify({ compilerOptions, files: [file] }));
      const { stdout, stderr } = await Bun.$`${join(INSTALLED, compiler, "bin/tsc")} -p ${name} --pretty false`.cwd(directory).quiet().nothrow();
      return `${stdout}${stderr}`;
    },
    async run(command: string, env: Record<string, string> = {}) {
      const { stdout, stderr, exitCode } = await Bun.$`${{ raw: command }}`
        .cwd(directory)
        .env({ PATH: Bun.env.PATH, ...env })
        .quiet()
        .nothrow();
      return { exitCode, output: `${stdout}`, errors: `${stderr}` };
    },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}

async function neededBy(directory: string): Promise<string[]> {
  const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = await Bun.file(join(directory, "package.json")).json();
  return [...Object.keys(dependencies), ...Object.keys(peerDependencies).filter((each) => !peerDependenciesMeta[each]?.optional && each !== "typescript")];
}

async function programsOf(directory: string): Promise<[string, string][]> {
  const { name, bin = {} } = await Bun.file(join(directory, "package.json")).json();
  return Object.entries(typeof bin === "string" ? { [name.split("/").at(-1)]: bin } : bin);
}

function linkProgram(link: string, path: string) {
  mkdirSync(dirname(link), { recursive: true });
  chmodSync(path, 0o755);
  symlinkSync(path, link);
}
