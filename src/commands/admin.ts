import type { Command } from "commander";
import { isUuid } from "#text/uuid";
import { CommandError } from "./command-error";
import { administer } from "./environment";

type NewOrganization = { name: string; adminUser: string; adminEmail: string; seatLimit?: string };

export function addAdminCommand(program: Command) {
  const admin = program.command("admin").description("Grant or revoke platform administration, create organizations.");
  const command = (name: string) => admin.command(name).exitOverride().showHelpAfterError();
  command("grant")
    .argument("<user-id>")
    .description("Make a user a platform admin.")
    .action((user: string) => administer("grant-platform-admin", { userId: readUserId(user) }));
  command("revoke")
    .argument("<user-id>")
    .description("Take platform administration away from a user.")
    .action((user: string) => administer("revoke-platform-admin", { userId: readUserId(user) }));
  command("create-organization")
    .description("Create an organization with its first admin, and print its id.")
    .requiredOption("--name <name>", "its name")
    .requiredOption("--admin-user <uuid>", "user id of its first admin: the subject of their tokens")
    .requiredOption("--admin-email <address>", "e-mail address of its first admin")
    .option("--seat-limit <number>", "how many members it may have")
    .action(createWithAdmin);
}

async function createWithAdmin({ name, adminUser, adminEmail, seatLimit }: NewOrganization) {
  const userId = readUserId(adminUser);
  if (name.trim() === "" || name.length > 200) throw new CommandError("--name must be text of 1 to 200 characters.", 2);
  if (!/^[^\s@]+@[^\s@][^\s@.]*\.[^\s@]+$/.test(adminEmail)) throw new CommandError("--admin-email must be an e-mail address.", 2);
  if (seatLimit !== undefined && !/^[1-9]\d{0,6}$/.test(seatLimit)) throw new CommandError("--seat-limit must be a number of at least 1.", 2);
  await administer("create-organization", { name: name.trim(), seatLimit: seatLimit ? Number(seatLimit) : null, adminUser: userId, adminEmail });
}

function readUserId(value: string) {
  if (!isUuid(value)) throw new CommandError(`"${value}" is not a user id (a UUID).`, 2);
  return value.toLowerCase();
}
