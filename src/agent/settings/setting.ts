import { foreign } from "../host/foreign";
import type { Host } from "../host/host";
import type { Transaction } from "../transaction/transaction";
import { hasMarker, holdsBlock, outsideBlocks, readBlock, withBlock, withoutBlock } from "./block";
import { type Format, formatOf } from "./formats";
import { asRead, changeText, readText } from "./shared-text";

/** A setting by which a program finds its anchors. Assignments that set the same share it; it goes with the last of them. */
export type Setting = {
  /** Returns the differences from the desired setting, as clauses. */
  observe(host: Host): Promise<string[]>;
  install(transaction: Transaction): Promise<void>;
  remove(transaction: Transaction): Promise<void>;
};

/** A setting of one value. Where another owner has set another value, installing it is an error. */
export type OneValue = Setting & { /** Returns whether another owner has set this value. */ isForeign(host: Host): Promise<boolean> };

export type SettingPlace = { file: string; name: string; format?: Format };

export const taken = ({ file, name }: SettingPlace, value: string) =>
  new Error(`${file} sets ${name} to ${value ? foreign(value) : "on"}, and not by this agent. Remove that, or let config.trustStorePath name that file.`);
export const takenByOther = ({ file, name }: SettingPlace, value: string) =>
  new Error(
    `${file} sets ${name} to ${foreign(value)} for another assignment on this host. Let this one have the same config.trustStorePath and preferOsStore, or take that one away first.`,
  );

/** A setting of one value, in a marked block of a file. */
export function oneValue(place: SettingPlace, words: string): OneValue {
  const { file, name, format = formatOf(file) } = place;
  const value = asRead(words);
  const content = format.render(name, value);
  const claimOf = (each: string) => `${name}=${each} in ${file}`;
  const read = async () => (await readText(file)) ?? "";
  const foreignIn = (text: string) => format.read(outsideBlocks(withoutBlock(text, name, content)), name);

  return {
    async observe() {
      const text = await read();
      const isWhole = !hasMarker(text, name) || holdsBlock(text, name, content);
      return isWhole && format.read(text, name) === value ? [] : [`${file} does not set ${name}${words && ` to ${words}`}`];
    },

    async install(transaction) {
      const text = await read();
      const foreign = foreignIn(text);
      const isReplaced = foreign !== undefined && foreign !== value;
      if (isReplaced && !transaction.owns(claimOf(value))) throw taken(place, foreign);
      if (foreign === value && !hasMarker(text, name)) return;
      const former = format.read(readBlock(text, name)?.join("\n") ?? "", name);
      if (former !== undefined && former !== value && transaction.isStayingOthers(claimOf(former))) throw takenByOther(place, former);
      // The last one counts: ours comes after what has replaced it.
      await changeText(transaction, file, (before) => withBlock(isReplaced ? withoutBlock(before, name, content) : before, name, content));
      await transaction.addReference(claimOf(value));
    },

    async remove(transaction) {
      if (!(await transaction.dropReference(claimOf(value)))) return;
      await changeText(transaction, file, (text) => {
        const present = format.read(readBlock(text, name)?.join("\n") ?? "", name);
        return present === undefined || present === value ? withoutBlock(text, name, content) : text; // another assignment's by now
      });
    },

    async isForeign() {
      const text = await read();
      return foreignIn(text) === value && !hasMarker(text, name);
    },
  };
}

/**
 * A setting of many words of several owners: the block adds our words to those set before it. `check` throws where the program
 * would not take the whole.
 */
export function someWords(
  { file, name, format = formatOf(file) }: SettingPlace,
  given: string,
  check: (transaction: Transaction, value: string) => Promise<unknown>,
): Setting {
  const own = asRead(given);
  const claim = `${name} ${own} in ${file}`;
  const read = async () => (await readText(file)) ?? "";
  const listedIn = (text: string) => (readBlock(text, name) ?? []).flatMap((line) => (line.startsWith("# ") ? line.slice(2) : []));
  const withOwn = (text: string) => [...new Set([...listedIn(text), own])];
  const wholeOf = (text: string, ours: string[]) => [format.append ? "" : format.read(outsideBlocks(text), name), ...ours].filter(Boolean).join(" ");
  const contentOf = (text: string, ours: string[]) => [...ours.map((each) => `# ${each}`), ...(format.append ?? format.render)(name, wholeOf(text, ours))];
  const put = (text: string, ours: string[]) => withBlock(withoutBlock(text, name, contentOf(text, ours)), name, contentOf(text, ours));

  return {
    async observe() {
      const text = await read();
      const isLast = format.read(text, name) === format.read(readBlock(text, name)?.join("\n") ?? "", name);
      return isLast && holdsBlock(text, name, contentOf(text, withOwn(text))) ? [] : [`${file} does not add ${given} to ${name}`];
    },

    async install(transaction) {
      const text = await read();
      await check(transaction, wholeOf(text, withOwn(text)));
      await changeText(transaction, file, (before) => put(before, withOwn(before)));
      await transaction.addReference(claim);
    },

    async remove(transaction) {
      if (!(await transaction.dropReference(claim))) return;
      await changeText(transaction, file, (text) => {
        const rest = listedIn(text).filter((each) => each !== own);
        return rest.length > 0 ? put(text, rest) : withoutBlock(text, name, contentOf(text, [own]));
      });
    },
  };
}
