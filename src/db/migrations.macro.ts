import { readMigrationFiles } from "drizzle-orm/migrator";
import journal from "../../drizzle/meta/_journal.json";

/** Runs while bundling: the SQL under drizzle/ becomes a literal inside the executable. */
export function embeddedMigrations() {
  const files = readMigrationFiles({ migrationsFolder: `${import.meta.dir}/../../drizzle` });
  return files.map((file, index) => ({ ...file, name: journal.entries[index]?.tag ?? "" }));
}
