/** A refusal of the API, in its own sentence. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Returns what was thrown as an error. */
export const toError = (thrown: unknown) => (thrown instanceof Error ? thrown : new Error(String(thrown)));
