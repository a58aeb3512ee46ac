/** "unused": nothing is configured, and nothing needs to be. */
export type State = "ok" | "warning" | "failed" | "unused";
export type Finding = { part: string; state: State; message: string };

type Said = Omit<Finding, "part">;
const say = (state: State) => (message: string) => ({ state, message });
export const [ok, warning, failed, unused] = [say("ok"), say("warning"), say("failed"), say("unused")];

export type Check = () => Said | Promise<Said>;

/** Returns what `check` found, or its failure: the failure says what was wrong, and the advice what to do. */
export const attempt = async (check: Check, advice?: string) => {
  try {
    return await check();
  } catch (error) {
    return failed(withAdvice(error as Error, advice));
  }
};
export const withAdvice = ({ message }: Error, advice?: string) => (advice ? `${message.replace(/\.$/, "")}. ${advice}` : message);
