import type { Command } from "commander";
import { addAdmin } from "#modules/people/members/queries/members";
import { createOrganization } from "#modules/people/organizations/queries";
import { grantPlatformAdmin, saveUser } from "#modules/people/users/queries";
import { isUuid } from "#uuid";
import { CommandError } from "./command-error";
import { withStamps } from "./environment";

const BY = { actor: { type: "command-line" as const }, requestId: null };

type NewOrganization = { name: string; adminUser: string; adminEmail: string; seatLimit?: string };

export function addAdminCommand(program: Command) {
  const admin = program.command("admin").description("Grant or revoke platform administration, create organizations.");
  const command = (name: string) => admin.command(name).exitOverride().showHelpAfterError();
  command("grant").argument("<user-id>").description("Make a user a platform admin.").action(grant);
  command("revoke").argument("<user-id>").description("Take platform administration away from a user.").action(revoke);
  command("create-organization")
    .description("Create an organization with its first admin, and print its id.")
    .requiredOption("--name <name>", "its name")
    .requiredOption("--admin-user <uuid>", "user id of its first admin: the subject of their tokens")
    .requiredOption("--admin-email <address>", "e-mail address of its first admin")
    .option("--seat-limit <number>", "how many members it may have")
    .action(createWithAdmin);
}

async function grant(userId: string) {
  const user = readUserId(userId);
  await withStamps(async (sql, stamps) => {
    await saveUser(sql, { userId: user, email: null, name: null });
    await grantPlatformAdmin(sql, stamps, user, true);
    console.info(`${user} is a platform admin.`);
  });
}

async function revoke(userId: string) {
  const user = readUserId(userId);
  await withStamps(async (sql, stamps) => {
    if (!(await grantPlatformAdmin(sql, stamps, user, false))) throw new CommandError(`There is no user ${user}.`);
    console.info(`${user} is no platform admin any more. PLATFORM_ADMINS may still name them.`);
  });
}

async function createWithAdmin({ name, adminUser, adminEmail, seatLimit }: NewOrganization) {
  const userId = readUserId(adminUser);
  if (name.trim() === "" || name.length > 200) throw new CommandError("--name must be text of 1 to 200 characters.", 2);
  if (!/^[^\s@]+@[^\s@][^\s@.]*\.[^\s@]+$/.test(adminEmail)) throw new CommandError("--admin-email must be an e-mail address.", 2);
  if (seatLimit !== undefined && !/^[1-9]\d{0,6}$/.test(seatLimit)) throw new CommandError("--seat-limit must be a number of at least 1.", 2);
  const organizationId = Bun.randomUUIDv7();
  await withStamps(async (sql, stamps) => {
    await sql.begin(async (tx) => {
      await saveUser(tx, { userId, email: adminEmail.toLowerCase(), name: null });
      await createOrganization(tx, { id: organizationId, name: name.trim(), seatLimit: seatLimit ? Number(seatLimit) : null }, BY);
      await addAdmin(tx, stamps, { ...BY, organizationId }, { userId, email: adminEmail });
    });
  });
  console.info(organizationId);
}

function readUserId(value: string) {
  if (!isUuid(value)) throw new CommandError(`"${value}" is not a user id (a UUID).`, 2);
  return value.toLowerCase();
}
