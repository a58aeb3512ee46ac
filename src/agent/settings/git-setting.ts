import { type Argv, argvOf, hostWord, serverWord } from "../host/arguments";
import { readSnapshot, textOf } from "../host/files";
import type { Host } from "../host/host";
import { runProgram } from "../host/program";
import type { Transaction } from "../transaction/transaction";
import { type OneValue, taken, takenByOther } from "./setting";

type GitOption = { file: string; name: string };

const claimOf = ({ file, name }: GitOption, value: string) => `${name}=${value} in ${file}`;

/** The setting of the option that a claim stands for; undefined where it stands for something else. */
function settingOf(claim: string, name: string) {
  const end = claim.lastIndexOf(" in ");
  return claim.startsWith(`${name}=`) && end > 0 ? gitSetting({ name, file: claim.slice(end + 4) }, claim.slice(name.length + 1, end)) : undefined;
}

/** The claims of the options that are others than these settings', each with its setting. */
export const otherClaims = (claims: string[], settings: (GitOption & { value: string })[]) =>
  settings.flatMap(({ value, ...place }) =>
    claims.flatMap((claim) => {
      const setting = claim === claimOf(place, value) ? undefined : settingOf(claim, place.name);
      return setting ? { claim, setting } : [];
    }),
  );

/** An option that git itself writes into a file of its own, beside a mark that the agent has set it. */
export function gitSetting(place: GitOption, value: string): OneValue {
  const { file, name } = place;
  const mark = `certitude.${name.replace(".", "-")}`;
  const madeClaim = `made ${file}`;

  async function read(host: Host) {
    const entries = (await readSnapshot(file))
      ? (await runProgram(host, argvOf("git", "config", "--file", hostWord(file), "--null", "--list"))).stdout.split("\0")
      : [];
    const valuesOf = (key: string) => entries.flatMap((each) => (each.startsWith(`${key.toLowerCase()}\n`) ? each.slice(key.length + 1) : []));
    return { values: valuesOf(name), isMarked: valuesOf(mark).length > 0, marks: valuesOf(mark) };
  }

  const edit = (transaction: Transaction, ...commands: Argv[]) =>
    transaction.editWith(file, async (copy) => {
      for (const each of commands) await transaction.run(argvOf("git", "config", "--file", hostWord(copy), each));
    });

  return {
    async observe(host) {
      const { values } = await read(host);
      return values.at(-1) === value ? [] : [`${file} does not set ${name} to ${value}`];
    },

    async install(transaction) {
      const { values, isMarked } = await read(transaction.host);
      const other = values.find((each) => each !== value);
      if (other !== undefined && transaction.isStayingOthers(claimOf(place, other))) throw takenByOther(place, other);
      if (other !== undefined && !(isMarked && values.length === 1)) throw taken(place, other);
      if (values.length > 0 && !isMarked) return;
      if (transaction.isOthers(madeClaim) || !(await readSnapshot(file))) await transaction.addReference(madeClaim);
      if (values[0] !== value) await edit(transaction, argvOf(hostWord(name), serverWord(value)), argvOf(hostWord(mark), serverWord(value)));
      await transaction.addReference(claimOf(place, value));
    },

    async remove(transaction) {
      if (await transaction.dropReference(claimOf(place, value))) {
        const { values, marks } = await read(transaction.host);
        const unset = [...(values.includes(value) ? [name] : []), ...(marks.includes(value) ? [mark] : [])];
        if (unset.length > 0) await edit(transaction, ...unset.map((each) => argvOf("--fixed-value", "--unset-all", hostWord(each), serverWord(value))));
      }
      const hasMore = transaction.owned("").some((each) => each.endsWith(` in ${file}`));
      if (!hasMore && (await transaction.dropReference(madeClaim)) && textOf(await readSnapshot(file)) === "") await transaction.editShared(file, null);
    },

    async isForeign(host) {
      const { values, isMarked } = await read(host);
      return values.at(-1) === value && !isMarked;
    },
  };
}
