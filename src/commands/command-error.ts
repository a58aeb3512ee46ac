/** Words for a person, and the exit code: 1 failed, 2 wrong usage. */
export class CommandError extends Error {
  constructor(
    message: string,
    readonly exitCode: 1 | 2 = 1,
  ) {
    super(message);
  }
}
