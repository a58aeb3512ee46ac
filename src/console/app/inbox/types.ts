import type { OnServer, RowOnServer } from "../operations";

export type Inbox = OnServer<["users", "me", "notifications", "inbox"]>;
export type Notice = RowOnServer<["users", "me", "notifications", "inbox"]>;
