let isRemembered = false;
let listener: (() => void) | undefined;

function hangUp() {
  if (listener) listener();
  else isRemembered = true;
}

/** Returns whether the agent itself runs, rather than a command beside it, which SIGHUP ends. */
export const runsAgent = (command: string | undefined) => command === undefined || command === "run" || command.startsWith("-");

/** From now on SIGHUP does not end the process. It is remembered until there is a listener. */
export const rememberHangups = () => void process.on("SIGHUP", hangUp);

/** Has each SIGHUP call the listener; at once, where one is remembered. */
export function listenToHangups(listen: () => void) {
  listener = listen;
  if (isRemembered) listen();
}
