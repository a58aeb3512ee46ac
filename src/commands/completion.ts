import { Argument, type Command } from "commander";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

/** A command with what may follow it; `path` is how it is called, "" for the program itself. */
type Level = { path: string; words: { word: string; about: string; isOption: boolean }[]; choices: Record<string, string[]> };

const visible = (command: Command) => command.createHelp().visibleCommands(command);

/** Returns every level of the command tree, the program's own first. */
function levelsOf(command: Command, path = ""): Level[] {
  const help = command.createHelp();
  const options = help.visibleOptions(command);
  const words = [
    ...visible(command).map((each) => ({ word: each.name(), about: each.summary() || each.description(), isOption: false })),
    ...options.flatMap(({ long, description }) => (long ? [{ word: long, about: description, isOption: true }] : [])),
    ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices.map((word) => ({ word, about: "", isOption: false }))),
  ];
  const choices = Object.fromEntries(options.flatMap(({ long, argChoices }) => (long && argChoices ? [[long, argChoices]] : [])));
  const below = command.commands.filter((each) => visible(command).includes(each));
  return [{ path, words, choices }, ...below.flatMap((each) => levelsOf(each, `${path} ${each.name()}`.trim()))];
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** The cases that all three shells share: which level a line has come to. bash and zsh keep `word` alike. */
const cases = (levels: Level[], render: (level: Level) => string) => levels.map((level) => `    ${quote(level.path)}) ${render(level)} ;;`).join("\n");
const paths = (levels: Level[]) => levels.flatMap(({ path }) => (path === "" ? [] : [quote(path)])).join("|");
const choiceCases = (levels: Level[], render: (values: string[]) => string) =>
  levels
    .flatMap(({ path, choices }) => Object.entries(choices).map(([option, values]) => `    ${quote(`${path} ${option}`)}) ${render(values)} ;;`))
    .join("\n");

const bash = (name: string, levels: Level[]) => `# ${name} completion bash > /etc/bash_completion.d/${name}
_${name}() {
  local path= word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
    ${paths(levels)}) path="\${path:+$path }$word" ;;
    esac
  done
  local current=\${COMP_WORDS[COMP_CWORD]} words=
  case "$path \${COMP_WORDS[COMP_CWORD-1]}" in
${choiceCases(levels, (values) => `mapfile -t COMPREPLY < <(compgen -W ${quote(values.join(" "))} -- "$current"); return`)}
  esac
  case "$path" in
${cases(levels, ({ words }) => `words=${quote(words.map(({ word }) => word).join(" "))}`)}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _${name} ${name}`;

const zshWord = ({ word, about }: Level["words"][number]) => quote(`${word.replaceAll(":", "\\:")}${about && `:${about}`}`);

const zsh = (name: string, levels: Level[]) => `#compdef ${name}
# ${name} completion zsh > "\${fpath[1]}/_${name}"
_${name}() {
  local current_path= word
  local -a words_here
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${current_path:+$current_path }$word" in
    (${paths(levels)}) current_path="\${current_path:+$current_path }$word" ;;
    esac
  done
  case "$current_path \${words[CURRENT-1]}" in
${choiceCases(levels, (values) => `compadd -- ${values.map(quote).join(" ")}; return`)}
  esac
  case "$current_path" in
${cases(levels, ({ words }) => `words_here=(${words.map(zshWord).join(" ")})`)}
  esac
  _describe -t words ${quote(name)} words_here || _files
}
if [ "$funcstack[1]" = "_${name}" ]; then _${name} "$@"; else compdef _${name} ${name}; fi`;

const fish = (name: string, levels: Level[]) => `# ${name} completion fish > ~/.config/fish/completions/${name}.fish
function __${name}_at
  set -l path
  for word in (commandline -opc)[2..-1]
    contains -- (string join -- ' ' $path $word) ${levels.flatMap(({ path }) => (path === "" ? [] : [quote(path)])).join(" ")}; and set -a path $word
  end
  test "$path" = "$argv"
end
${levels
  .flatMap(({ path, words, choices }) =>
    words.map(({ word, about, isOption }) => {
      const values = choices[word];
      const what = isOption ? `-l ${word.slice(2)}${values ? ` -xa ${quote(values.join(" "))}` : ""}` : `-fa ${quote(word)}`;
      return `complete -c ${name} -n ${quote(`__${name}_at ${path}`.trim())} ${what}${about ? ` -d ${quote(about)}` : ""}`;
    }),
  )
  .join("\n")}`;

const RENDERERS: Record<Shell, (name: string, levels: Level[]) => string> = { bash, zsh, fish };

export const addCompletion = (program: Command) =>
  program
    .command("completion")
    .addArgument(new Argument("<shell>", "which shell").choices(SHELLS))
    .description("Print what lets a shell complete commands and options.")
    .addHelpText("after", "\nIn bash, for this session: source <(certitude completion bash)")
    .action((shell: Shell) => console.info(RENDERERS[shell](program.name(), levelsOf(program))));
