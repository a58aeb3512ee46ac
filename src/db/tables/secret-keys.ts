import { pgTable, text } from "drizzle-orm/pg-core";
import { bytes, now } from "./columns";

/** The keys that sealed values may name, each with a value that it sealed: who cannot open it has the wrong SECRETS_KEY. */
export const secretKeys = pgTable("secret_keys", { keyId: text().primaryKey(), checkValue: bytes().notNull(), createdAt: now() });
