/** The protocols in which a server is asked to begin TLS; "none" is TLS from the first byte. */
export const START_TLS = ["none", "smtp", "imap", "pop3", "ftp", "xmpp", "ldap", "mysql", "nats", "postgres"] as const;
export type StartTls = (typeof START_TLS)[number];
export const isStartTls = (text: string): text is StartTls => START_TLS.some((each) => each === text);
